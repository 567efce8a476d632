//! The version up to which each stream is current, for waiters that read their writes.

use std::collections::{BTreeMap, BTreeSet};

use machinery_objects::{ResourceVersion, Revision};
use machinery_sync::{Listener, Mutex, Notify};

use super::interest_counts::Tenure;

/// The version up to which a stream shows the objects of its keys.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum ShownVersion<'v> {
    UpTo(&'v ResourceVersion),
    /// The version is unchanged.
    AsBefore,
    /// The source is behind, so earlier versions may have been lost in a restore.
    Doubtful,
}

/// The versions of the streams with a complete key, if versions are ordered.
#[derive(Default)]
pub(crate) struct Progress {
    state: Mutex<State>,
    changed: Notify,
}

#[derive(Default)]
struct State {
    positions: BTreeMap<Tenure, StreamPosition>,
    /// The streams by version: doubtful ones first, then the slowest.
    order: BTreeSet<(Option<Revision>, Tenure)>,
    /// Number of restores of the source that were noticed.
    era: u64,
}

/// The last version of a stream.
#[derive(Clone, Copy)]
struct StreamPosition {
    revision: Revision,
    era: u64,
    is_doubtful: bool,
}

impl Progress {
    /// Updates the version of a stream.
    pub(super) fn update(&self, stream: Tenure, shown: ShownVersion<'_>) {
        let mut state = self.state.lock();
        match shown {
            ShownVersion::UpTo(version) => {
                if let Some(revision) = version.revision() {
                    state.advance(stream, revision);
                }
            }
            ShownVersion::AsBefore => {}
            ShownVersion::Doubtful => state.doubt(stream),
        }
        drop(state);
        self.changed.notify_all();
    }

    /// Removes a closed stream.
    pub(super) fn remove(&self, stream: Tenure) {
        self.state.lock().remove(stream);
        self.changed.notify_all();
    }

    /// Removes all streams.
    pub(super) fn close(&self) {
        *self.state.lock() = State::default();
        self.changed.notify_all();
    }

    /// Returns whether all streams, and at least one, have reached the revision.
    pub(super) fn is_past(&self, revision: Revision) -> bool {
        self.state.lock().least().is_some_and(|least| least >= Some(revision))
    }

    /// Returns whether a stream may show objects that were lost in a restore.
    pub(super) fn is_doubtful(&self) -> bool {
        self.state.lock().least() == Some(None)
    }

    /// Returns a listener that the next change wakes.
    pub(super) fn listen(&self) -> Listener<'_> {
        self.changed.listen()
    }
}

impl State {
    fn advance(&mut self, stream: Tenure, revision: Revision) {
        let before = self.positions.get(&stream);
        if before.is_some_and(|before| before.revision > revision && before.era == self.era) {
            // The source was restored, which the other streams have not noticed yet.
            self.era += 1;
            self.positions.values_mut().for_each(|position| position.is_doubtful = true);
            self.order = self.positions.keys().map(|stream| (None, *stream)).collect();
        }
        self.set(stream, StreamPosition { revision, era: self.era, is_doubtful: false });
    }

    fn doubt(&mut self, stream: Tenure) {
        if let Some(position) = self.positions.get(&stream).copied() {
            self.set(stream, StreamPosition { is_doubtful: true, ..position });
        }
    }

    fn set(&mut self, stream: Tenure, position: StreamPosition) {
        self.remove(stream);
        self.order.insert((position.believed(), stream));
        self.positions.insert(stream, position);
    }

    fn remove(&mut self, stream: Tenure) {
        if let Some(position) = self.positions.remove(&stream) {
            self.order.remove(&(position.believed(), stream));
        }
    }

    fn least(&self) -> Option<Option<Revision>> {
        self.order.first().map(|(least, _)| *least)
    }
}

impl StreamPosition {
    fn believed(self) -> Option<Revision> {
        (!self.is_doubtful).then_some(self.revision)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn advance(progress: &Progress, stream: u64, revision: u64) {
        progress.update(Tenure(stream), ShownVersion::UpTo(&Revision(revision).into()));
    }

    #[test]
    fn the_slowest_stream_bounds_the_version() {
        let progress = Progress::default();
        assert!(!progress.is_past(Revision(1)), "there is no stream");
        advance(&progress, 1, 5);
        advance(&progress, 2, 3);
        assert!(progress.is_past(Revision(3)) && !progress.is_past(Revision(4)));
        advance(&progress, 2, 7);
        progress.update(Tenure(1), ShownVersion::AsBefore);
        assert!(progress.is_past(Revision(5)) && !progress.is_past(Revision(6)));
        progress.remove(Tenure(1));
        assert!(progress.is_past(Revision(7)));
    }

    #[test]
    fn after_a_restore_only_streams_that_noticed_it_count() {
        let progress = Progress::default();
        progress.update(Tenure(4), ShownVersion::Doubtful);
        assert!(!progress.is_doubtful(), "the stream has no version");
        for (stream, revision) in [(1, 30), (2, 31), (3, 4)] {
            advance(&progress, stream, revision);
        }
        advance(&progress, 1, 9);
        assert!(progress.is_doubtful() && !progress.is_past(Revision(4)));
        progress.update(Tenure(2), ShownVersion::AsBefore);
        assert!(progress.is_doubtful());
        advance(&progress, 2, 8);
        assert!(progress.is_doubtful(), "there is a third");
        advance(&progress, 3, 5);
        assert!(progress.is_past(Revision(5)) && !progress.is_past(Revision(6)));
        // Now with a stream whose source is known to be behind.
        advance(&progress, 3, 30);
        advance(&progress, 2, 30);
        progress.update(Tenure(1), ShownVersion::Doubtful);
        advance(&progress, 1, 7);
        assert!(progress.is_doubtful());
        progress.remove(Tenure(2));
        progress.remove(Tenure(3));
        assert!(progress.is_past(Revision(7)) && !progress.is_past(Revision(8)));
    }
}
