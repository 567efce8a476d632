//! Versions: the states of a key, each linked to the previous one.

use std::sync::Arc;

use machinery_objects::Revision;
use machinery_sync::Mutex;

use crate::contract::{Change, Entry, Event, Key};

/// A state of a key, from its revision until that of the next version.
///
/// Invariant: `older` leads to versions of the same key with decreasing revisions, back to the
/// key's state at the compacted revision, or to `None` if it was absent then.
#[derive(Debug)]
pub(crate) struct Version {
    pub(crate) state: State,
    /// Index of the version among the changes of its revision.
    pub(crate) place: u16,
    // Behind a lock, since compaction cuts it in versions that readers' snapshots share.
    older: Mutex<Option<Arc<Version>>>,
}

#[derive(Debug)]
pub(crate) enum State {
    Present(Arc<Entry>),
    Gone(Key, Revision),
}

impl Version {
    pub(crate) fn new(state: State, place: u16, older: Option<Arc<Self>>) -> Arc<Self> {
        Arc::new(Self { state, place, older: Mutex::new(older) })
    }

    pub(crate) fn revision(&self) -> Revision {
        match &self.state {
            State::Present(entry) => entry.modified,
            State::Gone(_, revision) => *revision,
        }
    }

    pub(crate) fn key(&self) -> &Key {
        match &self.state {
            State::Present(entry) => &entry.key,
            State::Gone(key, _) => key,
        }
    }

    pub(crate) fn entry(&self) -> Option<&Arc<Entry>> {
        match &self.state {
            State::Present(entry) => Some(entry),
            State::Gone(..) => None,
        }
    }

    /// Returns its share of the store's size.
    pub(crate) fn bytes(&self) -> u64 {
        let bytes = self.key().len() + self.entry().map_or(0, |entry| entry.value.len());
        bytes as u64
    }

    /// Returns its share of the current state: nothing for a deleted key.
    pub(crate) fn live_bytes(&self) -> u64 {
        self.entry().map_or(0, |_| self.bytes())
    }

    /// Returns the bytes of history that compaction of this version frees: those of the version
    /// that it replaced, and its own if its key is deleted.
    pub(crate) fn history_bytes(&self) -> u64 {
        let older = self.older.lock().as_ref().map_or(0, |older| older.live_bytes());
        older + self.bytes() - self.live_bytes()
    }

    pub(crate) fn older(&self) -> Option<Arc<Self>> {
        self.older.lock().clone()
    }

    /// Returns whether the previous version has this revision.
    pub(crate) fn replaces(&self, revision: Revision) -> bool {
        self.older.lock().as_ref().is_some_and(|older| older.revision() == revision)
    }

    /// Removes the link to the previous version, and returns that.
    pub(crate) fn cut(&self) -> Option<Arc<Self>> {
        self.older.lock().take()
    }

    /// Returns the version at a revision that is not compacted.
    pub(crate) fn at(self: &Arc<Self>, revision: Revision) -> Option<Arc<Self>> {
        let mut version = Arc::clone(self);
        while version.revision() > revision {
            version = version.older()?;
        }
        Some(version)
    }

    /// Returns the event of this version. Must not run concurrently with compaction, which may
    /// remove the previous version.
    pub(crate) fn event(&self) -> Event {
        let before = self.older.lock().as_ref().and_then(|older| older.entry().cloned());
        let change = match &self.state {
            State::Present(entry) => Change::Put(Arc::clone(entry)),
            State::Gone(key, _) => Change::Deleted(Arc::clone(key)),
        };
        Event { before, change }
    }
}

/// Drops a long chain in a loop: recursion would overflow the stack.
impl Drop for Version {
    fn drop(&mut self) {
        let mut next = self.cut();
        while let Some(version) = next.and_then(Arc::into_inner) {
            next = version.cut();
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Regression: dropping a key with a million versions overflowed the stack.
    #[test]
    fn a_long_history_drops_without_recursion() {
        let mut head = None;
        for revision in 1..1_000_000 {
            head = Some(Version::new(State::Gone("k".into(), Revision(revision)), 0, head));
        }
        drop(head);
    }
}
