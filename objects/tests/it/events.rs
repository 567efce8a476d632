//! Events of sources and of caches.

use machinery_objects::{EditNumber, Event, LeaveReason, ObjectKey, Revision, Unreadable, WatchEvent};

#[test]
fn mapping_an_event_maps_its_object() {
    let version = || Revision(7).into();
    let unreadable = || Unreadable {
        key: ObjectKey::default(),
        version: Some(version()),
        is_gone: false,
        reason: "no".into(),
    };
    let events = [
        WatchEvent::Added(1),
        WatchEvent::Modified(2),
        WatchEvent::Deleted(3),
        WatchEvent::Left(4),
        WatchEvent::Unreadable(unreadable()),
        WatchEvent::Bookmark { version: version(), initial_state_ends: true },
        WatchEvent::Complete { edit: EditNumber(1), version: version() },
    ];
    let views = events.map(|event| event.map(|number| number.to_string()));
    assert_eq!(
        views,
        [
            WatchEvent::Added("1".to_owned()),
            WatchEvent::Modified("2".to_owned()),
            WatchEvent::Deleted("3".to_owned()),
            WatchEvent::Left("4".to_owned()),
            WatchEvent::Unreadable(unreadable()),
            WatchEvent::Bookmark { version: version(), initial_state_ends: true },
            WatchEvent::Complete { edit: EditNumber(1), version: version() },
        ]
    );
}

#[test]
fn an_event_has_the_current_or_the_last_object() {
    let check = |event: Event<u8>, present: bool| {
        assert_eq!((*event.object(), event.is_present()), (2, present));
    };
    check(Event::Added { object: 2, initial: false }, true);
    check(Event::Updated { old: 1, object: 2 }, true);
    check(Event::Deleted { last: 2, final_state_known: false }, false);
    check(Event::Left { last: 2, because: LeaveReason::Released }, false);
}
