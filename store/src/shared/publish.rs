//! The moment from which a commit can be seen.

use std::sync::Arc;
use std::task::Waker;

use machinery_objects::Revision;
use machinery_sync::Mutex;
use machinery_sync::atomic::{AtomicBool, AtomicU64, Ordering};

use super::watch::WatchRegistry;
use crate::contract::Limits;
use crate::core::{ChangeHistory, RevisionChanges, Table};
use crate::options::Usage;

/// So many revisions are given up under one lock.
const STEP: u64 = 4096;

/// The store as readers see it.
///
/// Invariant: the table may hold versions that are not published; whoever reads it goes back to a published revision. What
/// is compacted is given up only after `compacted` says so: whoever reads a revision looks there again when it is done.
pub(crate) struct Shared {
    pub(super) table: Arc<Table>,
    pub(super) published: Mutex<Published>,
    pub(super) limits: Limits,
    current: AtomicU64,
    compacted: AtomicU64,
    used: AtomicU64,
    is_closed: AtomicBool,
}

/// Those who wait for what was published.
#[must_use = "they wait"]
pub(crate) struct PendingWakes(Vec<Waker>);

impl PendingWakes {
    pub(crate) fn wake(self) {
        self.0.into_iter().for_each(Waker::wake);
    }
}

/// Guarded by one lock, which is held for no wake.
pub(super) struct Published {
    pub(super) history: ChangeHistory,
    pub(super) watches: WatchRegistry,
    /// Why nothing is published any more.
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

    /// The newest revision that can be read.
    pub(crate) fn current(&self) -> Revision {
        Revision(self.current.load(Ordering::Acquire))
    }

    pub(crate) fn compacted(&self) -> Revision {
        Revision(self.compacted.load(Ordering::Acquire))
    }

    /// How much is held.
    pub(crate) fn usage(&self) -> Usage {
        let revisions = {
            let history = &self.published.lock().history;
            history.newest().0 - history.compacted().0
        };
        Usage { keys: self.table.len() as u64, bytes: self.used.load(Ordering::Relaxed), revisions }
    }

    /// Told by the writer how many bytes its versions have.
    pub(crate) fn note_used(&self, used: u64) {
        self.used.store(used, Ordering::Relaxed);
    }

    /// Shows `revised` to everybody. Whom it interests is to be woken once the caller holds no lock.
    pub(crate) fn publish(&self, revised: impl IntoIterator<Item = RevisionChanges>) -> PendingWakes {
        let mut wakes = PendingWakes(Vec::new());
        let mut published = self.published.lock();
        let Published { history, watches, .. } = &mut *published;
        for revised in revised {
            watches.note(&revised, &mut wakes.0);
            history.push(revised);
        }
        self.current.store(history.newest().0, Ordering::Release);
        wakes
    }

    /// Refuses what is before `to` from now on. Hands over the changes that nobody can ask for any more, a turn's worth at a
    /// time, so that no reader waits for all of them.
    pub(crate) fn compact_in_steps(&self, to: Revision, mut forget: impl FnMut(Vec<RevisionChanges>)) {
        loop {
            let gone = {
                let mut published = self.published.lock();
                let turn = to.min(Revision(published.history.compacted().0 + STEP));
                let gone = published.history.compact(turn);
                self.compacted.store(published.history.compacted().0, Ordering::Release);
                gone
            };
            if gone.is_empty() {
                return;
            }
            forget(gone);
        }
    }

    /// Whether the store was closed.
    pub(super) fn closed(&self) -> Option<Arc<str>> {
        self.is_closed.load(Ordering::Acquire).then(|| self.published.lock().closed.clone()).flatten()
    }

    /// Ends every watch once it has yielded what is published.
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
