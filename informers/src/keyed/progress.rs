//! How far each stream has come, for those who wait until all have come as far as what they wrote.

use std::collections::{BTreeMap, BTreeSet};

use machinery_objects::{ResourceVersion, Revision};
use machinery_sync::{Listener, Mutex, Notify};

use super::wanted::Tenure;

/// Of each stream of which something is complete: up to where all of that is shown, if versions are ordered.
#[derive(Default)]
pub(crate) struct Progress {
    state: Mutex<State>,
    changed: Notify,
}

#[derive(Default)]
struct State {
    of: BTreeMap<Tenure, Revision>,
    /// The same, the one that is behind all others first.
    order: BTreeSet<(Revision, Tenure)>,
}

impl Progress {
    /// What a stream shows has changed; and it shows all up to this version, if that is said.
    pub(super) fn to(&self, stream: Tenure, version: Option<&ResourceVersion>) {
        let mut state = self.state.lock();
        if let Some(revision) = version.and_then(ResourceVersion::revision) {
            state.over(stream);
            state.of.insert(stream, revision);
            state.order.insert((revision, stream));
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
        self.state.lock().order.first().is_some_and(|(least, _)| *least >= revision)
    }

    /// Woken by the next change from now on.
    pub(super) fn listen(&self) -> Listener<'_> {
        self.changed.listen()
    }
}

impl State {
    fn over(&mut self, stream: Tenure) {
        if let Some(revision) = self.of.remove(&stream) {
            self.order.remove(&(revision, stream));
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn all_are_past_what_the_last_of_them_is_past() {
        let progress = Progress::default();
        assert!(!progress.is_past(Revision(1)), "nobody has come anywhere");
        progress.to(Tenure(1), Some(&Revision(5).into()));
        progress.to(Tenure(2), Some(&Revision(3).into()));
        assert!(progress.is_past(Revision(3)) && !progress.is_past(Revision(4)));
        progress.to(Tenure(2), Some(&Revision(7).into()));
        progress.to(Tenure(1), None);
        assert!(progress.is_past(Revision(5)) && !progress.is_past(Revision(6)));
        progress.over(Tenure(1));
        assert!(progress.is_past(Revision(7)));
    }
}
