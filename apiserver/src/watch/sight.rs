//! What a change looks like through a selection: one that leaves it is deleted, one that enters it is added.

use std::sync::Arc;

use machinery_store::{Change, Entry, Event};

/// A change, as whoever watches is told.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Sight {
    Added(Arc<Entry>),
    Modified(Arc<Entry>),
    /// With its last state that was selected; the revision is that of the change.
    Deleted(Arc<Entry>),
    /// It is there, and no longer selected: with its last state that was. On the wire that is a deletion, too.
    Left(Arc<Entry>),
}

/// Whether a state is selected.
pub(crate) trait Seen {
    fn sees(&self, entry: &Entry) -> bool;
}

impl Sight {
    /// What a change is to somebody who sees only some states. `None`: nothing.
    pub(crate) fn of(event: &Event, selection: &impl Seen) -> Option<Self> {
        let seen = |entry: &&Arc<Entry>| selection.sees(entry);
        let before = event.before.as_ref().filter(seen);
        let after = match &event.change {
            Change::Put(entry) => Some(entry).filter(seen),
            Change::Deleted(_) => None,
        };
        match (before, after) {
            (None, None) => None,
            (None, Some(after)) => Some(Self::Added(after.clone())),
            (Some(_), Some(after)) => Some(Self::Modified(after.clone())),
            (Some(before), None) if matches!(event.change, Change::Put(_)) => {
                Some(Self::Left(before.clone()))
            }
            (Some(before), None) => Some(Self::Deleted(before.clone())),
        }
    }

    /// As events name it.
    pub(crate) const fn name(&self) -> &'static str {
        match self {
            Self::Added(_) => "ADDED",
            Self::Modified(_) => "MODIFIED",
            Self::Deleted(_) | Self::Left(_) => "DELETED",
        }
    }

    pub(crate) const fn entry(&self) -> &Arc<Entry> {
        match self {
            Self::Added(entry) | Self::Modified(entry) | Self::Deleted(entry) | Self::Left(entry) => entry,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use machinery_objects::Revision;

    struct Even;

    impl Seen for Even {
        fn sees(&self, entry: &Entry) -> bool {
            entry.value[0].is_multiple_of(2)
        }
    }

    fn state(number: u8) -> Arc<Entry> {
        let (created, modified) = (Revision(1), Revision(u64::from(number)));
        Arc::new(Entry { key: "k".into(), value: vec![number].into(), created, modified })
    }

    #[track_caller]
    fn check(before: Option<u8>, after: Option<u8>, expected: Option<(&str, u8)>) {
        let change = after.map_or_else(|| Change::Deleted("k".into()), |after| Change::Put(state(after)));
        let sight = Sight::of(&Event { before: before.map(state), change }, &Even);
        assert_eq!(sight.map(|sight| (sight.name(), sight.entry().value[0])), expected);
    }

    #[test]
    fn leaving_and_entering_the_selection() {
        check(None, Some(2), Some(("ADDED", 2)));
        check(Some(1), Some(2), Some(("ADDED", 2)));
        check(Some(2), Some(4), Some(("MODIFIED", 4)));
        check(Some(2), Some(3), Some(("DELETED", 2)));
        check(Some(2), None, Some(("DELETED", 2)));
        check(Some(1), Some(3), None);
        check(Some(1), None, None);
        check(None, Some(1), None);
    }
}
