//! The history of a fake source: its state at each revision.

use std::collections::{BTreeMap, VecDeque};
use std::sync::Arc;

use machinery_objects::ObjectKey;

pub(super) type HistoryState<T> = BTreeMap<ObjectKey, StoredObject<T>>;

/// An object, and whether it is sent as readable.
pub(super) struct StoredObject<T> {
    pub(super) object: Arc<T>,
    pub(super) readable: bool,
}

/// The change of one key, at a revision of its own.
pub(super) struct Commit<T> {
    pub(super) key: ObjectKey,
    pub(super) before: Option<StoredObject<T>>,
    pub(super) after: Option<StoredObject<T>>,
}

/// The commits since the last compaction.
pub(super) struct History<T> {
    /// The state before the first commit.
    base: HistoryState<T>,
    /// The revision of that state.
    first: u64,
    log: VecDeque<Commit<T>>,
    now: HistoryState<T>,
}

impl<T> Clone for StoredObject<T> {
    fn clone(&self) -> Self {
        Self { object: self.object.clone(), readable: self.readable }
    }
}

impl<T> History<T> {
    pub(super) const fn new() -> Self {
        Self { base: HistoryState::new(), first: 0, log: VecDeque::new(), now: HistoryState::new() }
    }

    pub(super) fn revision(&self) -> u64 {
        self.first + self.log.len() as u64
    }

    /// The oldest revision after which a watch can resume.
    pub(super) const fn first(&self) -> u64 {
        self.first
    }

    pub(super) const fn now(&self) -> &HistoryState<T> {
        &self.now
    }

    /// Returns the current readable or unreadable objects.
    pub(super) fn objects(&self, readable: bool) -> BTreeMap<ObjectKey, Arc<T>> {
        let objects = self.now.iter().filter(|(_, kept)| kept.readable == readable);
        objects.map(|(key, kept)| (key.clone(), kept.object.clone())).collect()
    }

    /// Returns the state at a revision, unless compacted.
    pub(super) fn at(&self, revision: u64) -> Option<HistoryState<T>> {
        if revision == self.revision() {
            return Some(self.now.clone());
        }
        let commits = usize::try_from(revision.checked_sub(self.first)?).ok()?;
        let mut state = self.base.clone();
        self.log.get(commits)?;
        self.log.iter().take(commits).for_each(|commit| commit.to(&mut state));
        Some(state)
    }

    /// Returns the commit after a revision.
    pub(super) fn after(&self, revision: u64) -> Option<&Commit<T>> {
        self.log.get(usize::try_from(revision.checked_sub(self.first)?).ok()?)
    }

    pub(super) fn commit(&mut self, key: ObjectKey, after: Option<StoredObject<T>>) -> u64 {
        let before = match &after {
            Some(kept) => self.now.insert(key.clone(), kept.clone()),
            None => self.now.remove(&key),
        };
        self.log.push_back(Commit { key, before, after });
        self.revision()
    }

    /// Compacts the history up to a revision.
    pub(super) fn compact(&mut self, revision: u64) {
        while self.first < revision {
            let Some(commit) = self.log.pop_front() else { return };
            commit.to(&mut self.base);
            self.first += 1;
        }
    }

    /// Discards the commits after a revision.
    pub(super) fn restore(&mut self, revision: u64) {
        let Some(state) = self.at(revision) else { return };
        self.now = state;
        self.log.truncate(usize::try_from(revision - self.first).unwrap_or(usize::MAX));
    }
}

impl<T> Commit<T> {
    fn to(&self, state: &mut HistoryState<T>) {
        match &self.after {
            Some(kept) => state.insert(self.key.clone(), kept.clone()),
            None => state.remove(&self.key),
        };
    }
}
