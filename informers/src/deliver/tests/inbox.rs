//! What becomes of a key that changes more than once before it is told.

use super::{Cache, DELETED, Key, LEFT, MISSED, State, now};
use crate::deliver::{Gone, Inbox, Told};
use machinery_objects::{EditNumber, Event, Mark, ResourceVersion, Revision};

#[derive(Clone, Copy)]
enum Do {
    Set(&'static str, State),
    End(&'static str, Gone),
    Progress(u64),
    Complete(u64),
    Synced,
    /// A thing is taken.
    Take,
}
use Do::*;

/// What is told in the course of it, and then of the rest.
fn check(script: &[Do], expected: &str) {
    let (mut cache, mut inbox, mut told) = (Cache::default(), Inbox::new(1), Vec::new());
    for step in script {
        match *step {
            Set(key, object) => {
                let news = cache.set(key, object, false);
                drop(inbox.put(now(), &news.key, news.before.as_ref(), &news.change));
            }
            End(key, why) => {
                let news = cache.end(key, why);
                drop(inbox.put(now(), &news.key, news.before.as_ref(), &news.change));
            }
            Progress(version) => inbox.mark(Mark::Progress(Revision(version).into())),
            Complete(edit) => inbox.mark(Mark::Complete(EditNumber(edit))),
            Synced => inbox.mark(Mark::Synced),
            Take => told.extend(inbox.take()),
        }
    }
    while let Some(next) = inbox.take() {
        told.push(next);
    }
    assert!(inbox.is_empty());
    assert_eq!(told.iter().map(text).collect::<Vec<_>>().join(" "), expected);
}

fn text(told: &Told<Key, State>) -> String {
    match told {
        Told::Event(key, Event::Added { object, .. }) => format!("+{key}{object}"),
        Told::Event(key, Event::Updated { old, object }) => format!("{key}{old}>{object}"),
        Told::Event(key, Event::Deleted { last, final_state_known: true }) => format!("-{key}{last}"),
        Told::Event(key, Event::Deleted { last, .. }) => format!("-{key}{last}?"),
        Told::Event(key, Event::Left { last, .. }) => format!("/{key}{last}"),
        Told::Event(_, event) => format!("{event:?}"),
        Told::Mark(Mark::Synced) => "synced".into(),
        Told::Mark(Mark::Progress(version)) => {
            format!("@{}", version.revision().map_or(0, |revision| revision.0))
        }
        Told::Mark(Mark::Complete(edit)) => format!("!{}", edit.0),
        Told::Mark(mark) => format!("{mark:?}"),
    }
}

#[test]
fn what_a_key_is_told_of_leads_from_what_was_told_last_to_what_is() {
    check(&[Set("a", 1), Take, Set("a", 2)], "+a1 a1>2");
    check(&[Set("a", 1), Take, Set("a", 2), Set("a", 3)], "+a1 a1>3");
    check(&[Set("a", 1), Set("a", 2)], "+a2");
    check(&[Set("a", 1), Take, End("a", DELETED)], "+a1 -a1");
    check(&[Set("a", 1), Take, Set("a", 2), End("a", DELETED)], "+a1 -a2");
    check(&[Set("a", 1), Take, End("a", MISSED), Set("a", 2)], "+a1 a1>2");
    check(&[Set("a", 1), Take, End("a", DELETED), Take, Set("a", 2)], "+a1 -a1 +a2");
    // It was gone, and whoever has more to look at than this object may want to know.
    check(&[Set("a", 1), Take, End("a", MISSED), Set("a", 1)], "+a1 a1>1");
}

#[test]
fn what_came_and_went_is_nothing_to_tell() {
    check(&[Set("a", 1), End("a", DELETED)], "");
    check(&[Set("a", 1), End("a", DELETED), Set("b", 2), Set("a", 3)], "+b2 +a3");
    check(&[End("a", DELETED)], "");
}

#[test]
fn a_key_that_is_due_keeps_its_place() {
    check(&[Set("a", 1), Set("b", 2), Set("a", 3)], "+a3 +b2");
    check(&[Set("a", 1), Take, Set("a", 2), Set("b", 3), End("a", DELETED), Set("a", 4)], "+a1 a1>4 +b3");
}

#[test]
fn the_last_reason_counts_but_what_is_deleted_cannot_leave() {
    let gone = |first, then| [Set("a", 1), Take, End("a", first), Set("a", 2), End("a", then)];
    check(&gone(LEFT, DELETED), "+a1 -a2");
    check(&gone(DELETED, LEFT), "+a1 /a2");
    // Without its having been there again.
    check(&[Set("a", 1), Take, End("a", LEFT), End("a", DELETED)], "+a1 -a0");
    check(&[Set("a", 1), Take, End("a", DELETED), End("a", LEFT)], "+a1 -a0");
    check(&[Set("a", 1), Take, End("a", MISSED), End("a", DELETED)], "+a1 -a0");
}

#[test]
fn marks_are_told_in_their_place() {
    check(&[Set("a", 1), Progress(1), Set("b", 2), Progress(2)], "+a1 @1 +b2 @2");
    check(&[Synced, Set("a", 1), Complete(3), Progress(9)], "synced +a1 !3 @9");
    check(&[Progress(1), Take, Progress(2)], "@1 @2");
}

#[test]
fn between_two_keys_there_is_one_mark_of_a_kind() {
    check(&[Progress(1), Progress(2), Complete(1), Complete(2), Synced, Progress(3)], "synced !2 @3");
    check(&[Set("a", 1), Progress(1), Set("b", 2), Progress(2), End("b", DELETED), Progress(3)], "+a1 @3");
    // What goes leaves the marks before it to the next, which are later.
    check(&[Progress(1), Set("a", 1), Complete(7), Progress(2), Set("b", 2), End("a", DELETED)], "!7 @2 +b2");
    check(&[Progress(1), Set("a", 1), Set("b", 2), End("a", DELETED)], "@1 +b2");
}

#[test]
fn what_happened_later_is_put_behind() {
    let (mut cache, mut earlier, mut later) = (Cache::default(), Inbox::new(1), Inbox::new(2));
    for news in [cache.set("a", 1, true), cache.set("b", 2, true), cache.set("c", 3, true)] {
        drop(earlier.put(now(), &news.key, news.before.as_ref(), &news.change));
    }
    earlier.mark(Mark::Synced);
    for news in [cache.set("d", 4, false), cache.end("b", DELETED), cache.set("a", 5, false)] {
        drop(later.put(now(), &news.key, news.before.as_ref(), &news.change));
        later.mark(Mark::Progress(ResourceVersion::from(Revision(u64::from(cache.0.len() as u32)))));
    }
    drop(earlier.append(later));
    let told: Vec<_> = std::iter::from_fn(|| earlier.take()).collect();
    assert_eq!(told[0], Told::Event("a".into(), Event::Added { object: 5, initial: true }));
    assert_eq!(told.iter().map(text).collect::<Vec<_>>().join(" "), "+a5 +c3 synced +d4 @3");
}

#[test]
fn an_inbox_that_was_emptied_is_small_again() {
    let mut inbox = Inbox::new(1);
    for key in 0..100_000 {
        assert!(inbox.begin(now(), &key, &key).is_none());
    }
    assert!(inbox.capacity() >= 100_000);
    while inbox.take().is_some() {}
    assert!(inbox.capacity() <= 64, "{} are kept", inbox.capacity());
}
