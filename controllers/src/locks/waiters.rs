//! Thread-safe wait queues of names.

use std::fmt;

use machinery_objects::{ObjectKey, ResourceVersion};
use machinery_sync::Mutex;

use super::wait_queue::WaitQueues;

/// Wait queues of names, in order of arrival.
///
/// A claimant [enqueues](Self::enqueue) first and reads the lock afterwards: a release after the
/// read then notifies it. [`NameLocks`](super::NameLocks) does so.
pub struct Waiters<W>(Mutex<WaitQueues<W>>);

impl<W: Ord + Clone> Waiters<W> {
    /// Creates empty queues for at most `limit` waiters.
    #[must_use]
    pub fn new(limit: usize) -> Self {
        Self(Mutex::new(WaitQueues::new(limit)))
    }

    /// Enqueues a waiter for a name, or keeps its position. Returns `false` if the limit is
    /// reached.
    pub fn enqueue(&self, name: &ObjectKey, waiter: &W) -> bool {
        self.0.lock().enqueue(name, waiter)
    }

    /// Records the version of the blocking lock: a cache before that version does not know the lock
    /// yet.
    pub fn set_lock_version(&self, name: &ObjectKey, version: Option<ResourceVersion>) {
        self.0.lock().set_lock_version(name, version);
    }

    /// Returns the waiters to notify of a released name, in order. A waiter that enqueues again
    /// before the next release keeps its position.
    pub fn notify(&self, name: &ObjectKey) -> Vec<W> {
        self.0.lock().notify(name)
    }

    /// Removes a waiter from the queue of a name.
    pub fn remove(&self, name: &ObjectKey, waiter: &W) {
        self.0.lock().remove(name, waiter);
    }

    /// Removes a waiter from all queues.
    pub fn remove_all(&self, waiter: &W) {
        self.0.lock().remove_all(waiter);
    }

    /// Returns the names with waiters to notify, and the version at which each lock was seen.
    pub fn awaited_names(&self) -> Vec<(ObjectKey, Option<ResourceVersion>)> {
        let queues = self.0.lock();
        queues.awaited_names().map(|(name, seen)| (name.clone(), seen.cloned())).collect()
    }

    /// Removes the waiters for which the function returns `false`.
    pub fn retain(&self, exists: impl Fn(&W) -> bool) {
        let waiters: Vec<W> = self.0.lock().waiters().cloned().collect();
        for waiter in waiters.iter().filter(|waiter| !exists(waiter)) {
            self.remove_all(waiter);
        }
    }

    /// Returns the number of queued waiters.
    #[must_use]
    pub fn len(&self) -> usize {
        self.0.lock().len()
    }

    /// Returns whether there are no waiters.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }
}

impl<W: Ord + Clone> fmt::Debug for Waiters<W> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Waiters").field("waiters", &self.len()).finish_non_exhaustive()
    }
}
