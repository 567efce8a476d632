//! Validators of the nine guarantees of a watch.

use std::collections::BTreeSet;

use machinery_objects::Revision;

use super::calls::{CallRecord, History, WatchRecord};
use super::linearization::Linearization;
use super::violation::Violation;
use crate::{Event, WatchError, WatchItem};

/// Returns the violations of the watches of `history`.
pub(super) fn all<'h>(
    history: &'h History,
    replay: &'h Linearization,
) -> impl Iterator<Item = Violation> + 'h {
    history.watches.iter().enumerate().flat_map(move |(watch, watched)| {
        let one = [
            filter(watch, watched),
            ordered(watch, watched),
            unique(watch, watched),
            atomic(watch, watched),
            bookmarkable(watch, watched, history, replay),
            resumable(watch, watched, replay),
            reliable(watch, watched, replay),
            before(watch, watched, replay),
            is_create(watch, watched, replay),
        ];
        one.into_iter().filter_map(Result::err)
    })
}

fn changes(watched: &WatchRecord) -> impl Iterator<Item = (u64, Revision, &[Event])> {
    watched.seen.iter().filter_map(|(time, seen)| match seen {
        WatchItem::Changes { revision, events } => Some((*time, *revision, &events[..])),
        WatchItem::Progress(_) => None,
    })
}

fn events(watched: &WatchRecord) -> impl Iterator<Item = (Revision, &Event)> {
    changes(watched).flat_map(|(_, revision, events)| events.iter().map(move |event| (revision, event)))
}

/// Filter: every event is in the span, and no item is empty.
pub fn filter(watch: usize, watched: &WatchRecord) -> Result<(), Violation> {
    for (_, revision, events) in changes(watched) {
        let outside = events.iter().map(Event::key).find(|key| !watched.span.contains(key));
        if let Some(key) = outside.map(|key| key.to_string()).or(events.is_empty().then(String::new)) {
            return Err(Violation::Filter { watch, revision, key });
        }
    }
    Ok(())
}

/// Ordered: revisions increase, from the start revision on.
pub fn ordered(watch: usize, watched: &WatchRecord) -> Result<(), Violation> {
    let mut before = watched.after.next();
    for (_, revision, _) in changes(watched) {
        if revision < before {
            return Err(Violation::Ordered { watch, before, revision });
        }
        before = revision;
    }
    Ok(())
}

/// Unique: no revision has two events of one key.
pub fn unique(watch: usize, watched: &WatchRecord) -> Result<(), Violation> {
    let mut seen = BTreeSet::new();
    for (revision, event) in events(watched) {
        if !seen.insert((revision, event.key())) {
            return Err(Violation::Unique { watch, revision, key: event.key().to_string() });
        }
    }
    Ok(())
}

/// Atomic: the events of a revision are in one item.
pub fn atomic(watch: usize, watched: &WatchRecord) -> Result<(), Violation> {
    let mut seen = BTreeSet::new();
    for (_, revision, _) in changes(watched) {
        if !seen.insert(revision) {
            return Err(Violation::Atomic { watch, revision });
        }
    }
    Ok(())
}

/// Bookmarkable: a progress revision is at or after earlier items, before later changes, never
/// decreases, was reached by the store, and follows every commit acknowledged before its request.
pub fn bookmarkable(
    watch: usize,
    watched: &WatchRecord,
    history: &History,
    replay: &Linearization,
) -> Result<(), Violation> {
    let (mut marked, mut changed) = (Revision::ZERO, watched.after);
    let mut marks = 0;
    for (time, seen) in &watched.seen {
        let wrong = |mark, why| Err(Violation::Bookmarkable { watch, mark, why });
        match seen {
            WatchItem::Changes { revision, .. } if *revision <= marked => {
                return wrong(marked, "a change at or before it was yielded after it");
            }
            WatchItem::Changes { revision, .. } => changed = changed.max(*revision),
            WatchItem::Progress(mark) if *mark < marked => {
                return wrong(*mark, "it is before an earlier one");
            }
            WatchItem::Progress(mark) if *mark < changed => {
                return wrong(*mark, "it is before an earlier change");
            }
            WatchItem::Progress(mark) if replay.moment(*mark).is_none_or(|moment| moment.called > *time) => {
                return wrong(*mark, "the store had not reached it");
            }
            WatchItem::Progress(mark) => (marked, marks) = (*mark, marks + 1),
        }
    }
    // One progress item per request: the last item answers the last request.
    if let Some(requested) = watched.requests.last()
        && marks >= watched.requests.len()
    {
        let is_earlier = |call: &&CallRecord| call.answered.is_some_and(|answered| answered < *requested);
        let reached = history.calls.iter().filter(is_earlier).filter_map(CallRecord::newest).max();
        if reached.is_some_and(|reached| marked < reached) {
            let why = "a commit acknowledged before its request is after it";
            return Err(Violation::Bookmarkable { watch, mark: marked, why });
        }
    }
    Ok(())
}

/// Resumable: the first item is the first change after the start revision.
pub fn resumable(watch: usize, watched: &WatchRecord, replay: &Linearization) -> Result<(), Violation> {
    let Some((_, actual, _)) = changes(watched).next() else { return Ok(()) };
    match expected(watched, replay).next() {
        Some((expected, _)) if expected != actual => {
            Err(Violation::Resumable { watch, after: watched.after, expected, actual })
        }
        _ => Ok(()),
    }
}

/// Reliable: the events equal the committed changes up to the last item, or up to the revision in
/// the final error.
pub fn reliable(watch: usize, watched: &WatchRecord, replay: &Linearization) -> Result<(), Violation> {
    let reached = watched.seen.iter().map(|(_, seen)| match seen {
        WatchItem::Changes { revision, .. } | WatchItem::Progress(revision) => *revision,
    });
    let ended = match watched.end {
        Some(WatchError::TooSlow { seen, .. }) => Some(seen),
        _ => None,
    };
    let Some(end) = reached.chain(ended).max() else { return Ok(()) };
    let mut expected = expected(watched, replay).take_while(|(revision, _)| *revision <= end);
    let mut actual = events(watched);
    loop {
        let describe = |next: Option<(Revision, &Event)>| match next {
            None => "nothing".to_string(),
            Some((_, event)) => format!("{:?}", event.change),
        };
        return match (expected.next(), actual.next()) {
            (None, None) => Ok(()),
            (Some(one), Some(other)) if one.0 == other.0 && one.1.change == other.1.change => continue,
            (one, other) => {
                let revision = one.or(other).map_or(end, |next| next.0);
                Err(Violation::Reliable { watch, revision, expected: describe(one), actual: describe(other) })
            }
        };
    }
}

/// Before: each event has the previous state of its key.
pub fn before(watch: usize, watched: &WatchRecord, replay: &Linearization) -> Result<(), Violation> {
    for (revision, event) in events(watched) {
        let then = revision.0.checked_sub(1).and_then(|before| replay.moment(Revision(before)));
        if then.is_some_and(|then| then.held.get(event.key()) != event.before.as_ref()) {
            return Err(Violation::Before { watch, revision, key: event.key().to_string() });
        }
    }
    Ok(())
}

/// IsCreate: an event reports a creation if and only if it created its key.
pub fn is_create(watch: usize, watched: &WatchRecord, replay: &Linearization) -> Result<(), Violation> {
    for (revision, event) in events(watched) {
        let then = replay
            .moment(revision)
            .and_then(|moment| moment.events.iter().find(|one| one.key() == event.key()));
        let actual = event.is_create();
        if then.is_some_and(|then| then.is_create() != actual) {
            return Err(Violation::IsCreate { watch, revision, key: event.key().to_string(), actual });
        }
    }
    Ok(())
}

/// Returns the changes that a watch should yield.
fn expected<'r>(
    watched: &'r WatchRecord,
    replay: &'r Linearization,
) -> impl Iterator<Item = (Revision, &'r Event)> {
    let all = replay.behind(watched.after);
    let events = all.flat_map(|(revision, moment)| moment.events.iter().map(move |event| (revision, event)));
    events.filter(|(_, event)| watched.span.contains(event.key()))
}
