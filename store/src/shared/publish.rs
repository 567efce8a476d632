//! Publishing: the point at which a commit becomes visible.

use std::sync::Arc;
use std::task::Waker;

use machinery_objects::Revision;
use machinery_sync::Mutex;
use machinery_sync::atomic::{AtomicBool, AtomicU64, Ordering};

use super::watch::WatchRegistry;
use crate::contract::Limits;
use crate::core::{ChangeHistory, RevisionChanges, Table};
use crate::options::Usage;

/// Revisions compacted under one lock.
const STEP: u64 = 4096;

/// The store as readers see it.
///
/// Invariants: the table may hold unpublished versions, so readers go back to a published revision.
/// Versions are dropped only after `compacted` is raised, so a read at a revision checks
/// `compacted` again when it is done.
pub(crate) struct Shared {
    pub(super) table: Arc<Table>,
    pub(super) published: Mutex<Published>,
    pub(super) limits: Limits,
    current: AtomicU64,
    compacted: AtomicU64,
    used: AtomicU64,
    is_closed: AtomicBool,
}

/// Wakers of watches that have new changes.
#[must_use = "they wait"]
pub(crate) struct PendingWakes(Vec<Waker>);

impl PendingWakes {
    pub(crate) fn wake(self) {
        self.0.into_iter().for_each(Waker::wake);
    }
}

/// The published state, under one lock. No waker is called while it is held.
pub(super) struct Published {
    pub(super) history: ChangeHistory,
    pub(super) watches: WatchRegistry,
    /// The reason, once the store is closed.
    pub(super) closed: Option<Arc<str>>,
}

impl Shared {
    pub(crate) fn new(
        table: Arc<Table>,
        history: ChangeHistory,
        used: u64,
        limits: Limits,
        seed: u64,
    ) -> Arc<Self> {
        let current = AtomicU64::new(history.newest().0);
        let compacted = AtomicU64::new(history.compacted().0);
        let published = Mutex::new(Published { history, watches: WatchRegistry::new(seed), closed: None });
        Arc::new(Self {
            table,
            published,
            limits,
            current,
            compacted,
            used: AtomicU64::new(used),
            is_closed: AtomicBool::new(false),
        })
    }

    pub(crate) fn table(&self) -> &Arc<Table> {
        &self.table
    }

    /// Returns the newest readable revision.
    pub(crate) fn current(&self) -> Revision {
        Revision(self.current.load(Ordering::Acquire))
    }

    pub(crate) fn compacted(&self) -> Revision {
        Revision(self.compacted.load(Ordering::Acquire))
    }

    /// Returns the size of the store.
    pub(crate) fn usage(&self) -> Usage {
        let revisions = {
            let history = &self.published.lock().history;
            history.newest().0 - history.compacted().0
        };
        Usage { keys: self.table.len() as u64, bytes: self.used.load(Ordering::Relaxed), revisions }
    }

    /// Records the size of the writer's versions.
    pub(crate) fn note_used(&self, used: u64) {
        self.used.store(used, Ordering::Relaxed);
    }

    /// Makes `revised` visible. The caller wakes the returned watches once it holds no lock.
    pub(crate) fn publish(&self, revised: impl IntoIterator<Item = RevisionChanges>) -> PendingWakes {
        let mut wakes = PendingWakes(Vec::new());
        let mut published = self.published.lock();
        let Published { history, watches, .. } = &mut *published;
        for revised in revised {
            watches.note(&revised, &mut wakes.0);
            history.push(revised);
        }
        // Release: a reader of this revision finds all of its versions in the table.
        self.current.store(history.newest().0, Ordering::Release);
        wakes
    }

    /// Returns the oldest revision up to which the published history takes `bytes`; `None` for no
    /// bytes.
    pub(crate) fn oldest_with(&self, bytes: u64) -> Option<Revision> {
        (bytes > 0).then(|| self.published.lock().history.oldest_with(bytes))
    }

    /// Compacts to `to`, and passes the removed changes to `forget` in steps, so that no reader
    /// waits for all of them.
    pub(crate) fn compact_in_steps(&self, to: Revision, mut forget: impl FnMut(Vec<RevisionChanges>)) {
        loop {
            let gone = {
                let mut published = self.published.lock();
                let turn = to.min(Revision(published.history.compacted().0 + STEP));
                let gone = published.history.compact(turn);
                // Before `forget` cuts links: a read that misses one then sees the compaction.
                self.compacted.store(published.history.compacted().0, Ordering::Release);
                gone
            };
            if gone.is_empty() {
                return;
            }
            forget(gone);
        }
    }

    /// Returns the reason if the store is closed.
    pub(super) fn closed(&self) -> Option<Arc<str>> {
        // A flag in front of the lock: every read passes here, and the lock serves the watches.
        self.is_closed.load(Ordering::Acquire).then(|| self.published.lock().closed.clone()).flatten()
    }

    /// Closes the store: each watch ends after the changes that are published.
    pub(crate) fn close(&self, why: &Arc<str>) {
        let wake = {
            let mut published = self.published.lock();
            published.closed.get_or_insert_with(|| Arc::clone(why));
            self.is_closed.store(true, Ordering::Release);
            published.watches.take_wakers()
        };
        wake.into_iter().for_each(Waker::wake);
    }
}
