//! Coalescing of the changes of a key in a delivery queue.

use super::{DELETED, LEFT, MISSED, State, TestCache, TestKey, now};
use crate::deliver::{Delivery, DeliveryQueue, Removal};
use machinery_objects::{Bookmark, EditNumber, Event, ResourceVersion, Revision};

#[derive(Clone, Copy)]
enum QueueStep {
    Set(&'static str, State),
    End(&'static str, Removal),
    Progress(u64),
    Complete(u64),
    Synced,
    /// Takes one delivery.
    Take,
}
use QueueStep::*;

/// Runs the script and compares all deliveries.
fn check(script: &[QueueStep], expected: &str) {
    let (mut cache, mut queue, mut delivery) = (TestCache::default(), DeliveryQueue::new(1), Vec::new());
    for step in script {
        match *step {
            Set(key, object) => {
                let notifications = cache.set(key, object, false);
                drop(queue.put(
                    now(),
                    &notifications.key,
                    notifications.before.as_ref(),
                    &notifications.change,
                ));
            }
            End(key, removal) => {
                let notifications = cache.end(key, removal);
                drop(queue.put(
                    now(),
                    &notifications.key,
                    notifications.before.as_ref(),
                    &notifications.change,
                ));
            }
            Progress(version) => queue.mark(Bookmark::Progress(Revision(version).into())),
            Complete(edit) => queue.mark(Bookmark::Complete(EditNumber(edit))),
            Synced => queue.mark(Bookmark::Synced),
            Take => delivery.extend(queue.take()),
        }
    }
    while let Some(next) = queue.take() {
        delivery.push(next);
    }
    assert!(queue.is_empty());
    assert_eq!(delivery.iter().map(text).collect::<Vec<_>>().join(" "), expected);
}

fn text(delivery: &Delivery<TestKey, State>) -> String {
    match delivery {
        Delivery::Event(key, Event::Added { object, .. }) => format!("+{key}{object}"),
        Delivery::Event(key, Event::Updated { old, object }) => format!("{key}{old}>{object}"),
        Delivery::Event(key, Event::Deleted { last, final_state_known: true }) => format!("-{key}{last}"),
        Delivery::Event(key, Event::Deleted { last, .. }) => format!("-{key}{last}?"),
        Delivery::Event(key, Event::Left { last, .. }) => format!("/{key}{last}"),
        Delivery::Event(_, event) => format!("{event:?}"),
        Delivery::Mark(Bookmark::Synced) => "synced".into(),
        Delivery::Mark(Bookmark::Progress(version)) => {
            format!("@{}", version.revision().map_or(0, |revision| revision.0))
        }
        Delivery::Mark(Bookmark::Complete(edit)) => format!("!{}", edit.0),
        Delivery::Mark(mark) => format!("{mark:?}"),
    }
}

#[test]
fn changes_of_a_key_coalesce_from_the_last_delivered_to_the_current_state() {
    check(&[Set("a", 1), Take, Set("a", 2)], "+a1 a1>2");
    check(&[Set("a", 1), Take, Set("a", 2), Set("a", 3)], "+a1 a1>3");
    check(&[Set("a", 1), Set("a", 2)], "+a2");
    check(&[Set("a", 1), Take, End("a", DELETED)], "+a1 -a1");
    check(&[Set("a", 1), Take, Set("a", 2), End("a", DELETED)], "+a1 -a2");
    check(&[Set("a", 1), Take, End("a", MISSED), Set("a", 2)], "+a1 a1>2");
    check(&[Set("a", 1), Take, End("a", DELETED), Take, Set("a", 2)], "+a1 -a1 +a2");
    // The handler may depend on more than this object, so the change is delivered.
    check(&[Set("a", 1), Take, End("a", MISSED), Set("a", 1)], "+a1 a1>1");
}

#[test]
fn an_object_added_and_deleted_while_queued_is_not_delivered() {
    check(&[Set("a", 1), End("a", DELETED)], "");
    check(&[Set("a", 1), End("a", DELETED), Set("b", 2), Set("a", 3)], "+b2 +a3");
    check(&[End("a", DELETED)], "");
}

#[test]
fn a_queued_key_keeps_its_position() {
    check(&[Set("a", 1), Set("b", 2), Set("a", 3)], "+a3 +b2");
    check(&[Set("a", 1), Take, Set("a", 2), Set("b", 3), End("a", DELETED), Set("a", 4)], "+a1 a1>4 +b3");
}

#[test]
fn the_last_removal_wins_but_deleted_never_becomes_left() {
    let gone = |first, then| [Set("a", 1), Take, End("a", first), Set("a", 2), End("a", then)];
    check(&gone(LEFT, DELETED), "+a1 -a2");
    check(&gone(DELETED, LEFT), "+a1 /a2");
    // Two removals without an addition in between.
    check(&[Set("a", 1), Take, End("a", LEFT), End("a", DELETED)], "+a1 -a0");
    check(&[Set("a", 1), Take, End("a", DELETED), End("a", LEFT)], "+a1 -a0");
    check(&[Set("a", 1), Take, End("a", MISSED), End("a", DELETED)], "+a1 -a0");
}

#[test]
fn marks_are_delivered_in_order() {
    check(&[Set("a", 1), Progress(1), Set("b", 2), Progress(2)], "+a1 @1 +b2 @2");
    check(&[Synced, Set("a", 1), Complete(3), Progress(9)], "synced +a1 !3 @9");
    check(&[Progress(1), Take, Progress(2)], "@1 @2");
}

#[test]
fn marks_of_one_kind_between_two_keys_are_merged() {
    check(&[Progress(1), Progress(2), Complete(1), Complete(2), Synced, Progress(3)], "synced !2 @3");
    check(&[Set("a", 1), Progress(1), Set("b", 2), Progress(2), End("b", DELETED), Progress(3)], "+a1 @3");
    // A removed key passes the marks before it on to the next one, where later marks supersede
    // them.
    check(&[Progress(1), Set("a", 1), Complete(7), Progress(2), Set("b", 2), End("a", DELETED)], "!7 @2 +b2");
    check(&[Progress(1), Set("a", 1), Set("b", 2), End("a", DELETED)], "@1 +b2");
}

#[test]
fn appended_changes_follow_earlier_ones() {
    let (mut cache, mut earlier, mut later) =
        (TestCache::default(), DeliveryQueue::new(1), DeliveryQueue::new(2));
    for notifications in [cache.set("a", 1, true), cache.set("b", 2, true), cache.set("c", 3, true)] {
        drop(earlier.put(now(), &notifications.key, notifications.before.as_ref(), &notifications.change));
    }
    earlier.mark(Bookmark::Synced);
    for notifications in [cache.set("d", 4, false), cache.end("b", DELETED), cache.set("a", 5, false)] {
        drop(later.put(now(), &notifications.key, notifications.before.as_ref(), &notifications.change));
        later.mark(Bookmark::Progress(ResourceVersion::from(Revision(u64::from(cache.0.len() as u32)))));
    }
    drop(earlier.append(later));
    let delivery: Vec<_> = std::iter::from_fn(|| earlier.take()).collect();
    assert_eq!(delivery[0], Delivery::Event("a".into(), Event::Added { object: 5, initial: true }));
    assert_eq!(delivery.iter().map(text).collect::<Vec<_>>().join(" "), "+a5 +c3 synced +d4 @3");
}

#[test]
fn an_emptied_queue_frees_its_memory() {
    let mut queue = DeliveryQueue::new(1);
    for key in 0..100_000 {
        assert!(queue.put_initial(now(), &key, &key).is_none());
    }
    assert!(queue.capacity() >= 100_000);
    while queue.take().is_some() {}
    assert!(queue.capacity() <= 64, "{} are kept", queue.capacity());
}
