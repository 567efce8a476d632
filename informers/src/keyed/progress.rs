//! How far each stream has come, for those who wait until all have come as far as what they wrote.

use std::collections::{BTreeMap, BTreeSet};

use machinery_objects::{ResourceVersion, Revision};
use machinery_sync::{Listener, Mutex, Notify};

use super::wanted::Tenure;

/// Up to where a stream shows all that is known of its keys.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum Shown<'v> {
    UpTo(&'v ResourceVersion),
    /// Nothing else than it said before.
    AsBefore,
    /// What it said before may be of a time that never was: its source shows less.
    Doubtful,
}

/// Of each stream of which something is complete: up to where all of that is shown, if versions are ordered.
#[derive(Default)]
pub(crate) struct Progress {
    state: Mutex<State>,
    changed: Notify,
}

#[derive(Default)]
struct State {
    of: BTreeMap<Tenure, Said>,
    /// What is believed of it: first those of which nothing is, then the one that is behind all others.
    order: BTreeSet<(Option<Revision>, Tenure)>,
    /// How often the source was restored, as far as is known.
    era: u64,
}

/// What a stream said last.
#[derive(Clone, Copy)]
struct Said {
    revision: Revision,
    era: u64,
    is_doubtful: bool,
}

impl Progress {
    /// What a stream shows has changed.
    pub(super) fn to(&self, stream: Tenure, shown: Shown<'_>) {
        let mut state = self.state.lock();
        match shown {
            Shown::UpTo(version) => {
                if let Some(revision) = version.revision() {
                    state.says(stream, revision);
                }
            }
            Shown::AsBefore => {}
            Shown::Doubtful => state.doubt(stream),
        }
        drop(state);
        self.changed.notify_all();
    }

    /// There is no such stream any more.
    pub(super) fn over(&self, stream: Tenure) {
        self.state.lock().over(stream);
        self.changed.notify_all();
    }

    /// Nothing changes any more.
    pub(super) fn end(&self) {
        *self.state.lock() = State::default();
        self.changed.notify_all();
    }

    /// Whether all of them have come so far, and there are any.
    pub(super) fn is_past(&self, revision: Revision) -> bool {
        self.state.lock().least().is_some_and(|least| least >= Some(revision))
    }

    /// Whether what some of them show may be of a time that never was.
    pub(super) fn is_doubtful(&self) -> bool {
        self.state.lock().least() == Some(None)
    }

    /// Woken by the next change from now on.
    pub(super) fn listen(&self) -> Listener<'_> {
        self.changed.listen()
    }
}

impl State {
    fn says(&mut self, stream: Tenure, revision: Revision) {
        let before = self.of.get(&stream);
        if before.is_some_and(|before| before.revision > revision && before.era == self.era) {
            // The source was restored, and the others have not heard of it yet.
            self.era += 1;
            self.of.values_mut().for_each(|said| said.is_doubtful = true);
            self.order = self.of.keys().map(|stream| (None, *stream)).collect();
        }
        self.set(stream, Said { revision, era: self.era, is_doubtful: false });
    }

    fn doubt(&mut self, stream: Tenure) {
        if let Some(said) = self.of.get(&stream).copied() {
            self.set(stream, Said { is_doubtful: true, ..said });
        }
    }

    fn set(&mut self, stream: Tenure, said: Said) {
        self.over(stream);
        self.order.insert((said.believed(), stream));
        self.of.insert(stream, said);
    }

    fn over(&mut self, stream: Tenure) {
        if let Some(said) = self.of.remove(&stream) {
            self.order.remove(&(said.believed(), stream));
        }
    }

    fn least(&self) -> Option<Option<Revision>> {
        self.order.first().map(|(least, _)| *least)
    }
}

impl Said {
    fn believed(self) -> Option<Revision> {
        (!self.is_doubtful).then_some(self.revision)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn says(progress: &Progress, stream: u64, revision: u64) {
        progress.to(Tenure(stream), Shown::UpTo(&Revision(revision).into()));
    }

    #[test]
    fn all_are_past_what_the_last_of_them_is_past() {
        let progress = Progress::default();
        assert!(!progress.is_past(Revision(1)), "nobody has come anywhere");
        says(&progress, 1, 5);
        says(&progress, 2, 3);
        assert!(progress.is_past(Revision(3)) && !progress.is_past(Revision(4)));
        says(&progress, 2, 7);
        progress.to(Tenure(1), Shown::AsBefore);
        assert!(progress.is_past(Revision(5)) && !progress.is_past(Revision(6)));
        progress.over(Tenure(1));
        assert!(progress.is_past(Revision(7)));
    }

    #[test]
    fn of_a_source_that_was_restored_nobody_is_believed_who_has_not_heard_of_it() {
        let progress = Progress::default();
        progress.to(Tenure(4), Shown::Doubtful);
        assert!(!progress.is_doubtful(), "it has said nothing");
        for (stream, revision) in [(1, 30), (2, 31), (3, 4)] {
            says(&progress, stream, revision);
        }
        says(&progress, 1, 9);
        assert!(progress.is_doubtful() && !progress.is_past(Revision(4)));
        progress.to(Tenure(2), Shown::AsBefore);
        assert!(progress.is_doubtful());
        says(&progress, 2, 8);
        assert!(progress.is_doubtful(), "there is a third");
        says(&progress, 3, 5);
        assert!(progress.is_past(Revision(5)) && !progress.is_past(Revision(6)));
        // One of which it was known that its source shows less, too.
        says(&progress, 3, 30);
        says(&progress, 2, 30);
        progress.to(Tenure(1), Shown::Doubtful);
        says(&progress, 1, 7);
        assert!(progress.is_doubtful());
        progress.over(Tenure(2));
        progress.over(Tenure(3));
        assert!(progress.is_past(Revision(7)) && !progress.is_past(Revision(8)));
    }
}
