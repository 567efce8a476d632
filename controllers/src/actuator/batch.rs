//! The changes of one call of a port, and their results.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;

use machinery_sync::{Mutex, Notify};
use tokio::time::{Instant, sleep_until};

/// A change of one item: from anything, usually `from`, to `to`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ItemChange<K, I> {
    /// The key of the item.
    pub key: K,
    /// The item that exists, or that an earlier change may have left; `None` if nothing is known to
    /// exist.
    pub from: Option<I>,
    /// The item to create or repair; `None` to delete it.
    pub to: Option<I>,
}

/// Changes that are applied together, each of another key.
#[derive(Debug)]
pub struct ChangeBatch<K, I, E> {
    changes: Vec<ItemChange<K, I>>,
    results: Mutex<BTreeMap<K, Result<(), E>>>,
    reported: Notify,
    progress: Progress,
}

/// The time of the last progress of a call. A call without progress is dropped at its time limit.
/// Cheap to clone.
#[derive(Clone, Debug)]
pub struct Progress(Arc<Mutex<Instant>>);

impl<K: Ord + Clone, I, E> ChangeBatch<K, I, E> {
    /// Creates a batch, for tests of a port.
    #[must_use]
    pub fn new(changes: Vec<ItemChange<K, I>>) -> Self {
        let (results, reported) = (Mutex::new(BTreeMap::new()), Notify::new());
        Self { changes, results, reported, progress: Progress::default() }
    }

    /// Returns the changes, in the order of their requests.
    #[must_use]
    pub fn changes(&self) -> &[ItemChange<K, I>] {
        &self.changes
    }

    /// Reports the result of a change before the others end. Its caller waits no longer, and the
    /// time limit of the others starts again. The first report of a key counts.
    pub fn report(&self, key: &K, result: Result<(), E>) {
        self.results.lock().entry(key.clone()).or_insert(result);
        self.progress.made();
        self.reported.notify_all();
    }

    /// Returns the progress of the batch.
    pub const fn progress(&self) -> &Progress {
        &self.progress
    }

    /// Takes the results reported since the last call.
    #[must_use]
    pub fn take_results(&self) -> BTreeMap<K, Result<(), E>> {
        std::mem::take(&mut *self.results.lock())
    }

    /// Waits for a report that has not been taken.
    pub(super) async fn reported(&self) {
        loop {
            let listener = self.reported.listen();
            if !self.results.lock().is_empty() {
                return;
            }
            listener.await;
        }
    }
}

impl Default for Progress {
    fn default() -> Self {
        Self(Arc::new(Mutex::new(Instant::now())))
    }
}

impl Progress {
    /// Starts the time limit again: something was done, and more is left to do.
    pub fn made(&self) {
        *self.0.lock() = Instant::now();
    }

    /// Waits until there is no progress for a time.
    pub(super) async fn stalled(&self, limit: Duration) {
        loop {
            let last = *self.0.lock();
            let Some(until) = last.checked_add(limit) else { return std::future::pending().await };
            sleep_until(until).await;
            if *self.0.lock() == last {
                return;
            }
        }
    }
}
