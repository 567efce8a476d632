//! Who waits for which name, for many threads.

use std::fmt;

use machinery_objects::{ObjectKey, ResourceVersion};
use machinery_sync::Mutex;

use super::wait_queue::WaitQueues;

/// Who waits for which name, in the order in which they came.
///
/// Whoever looks whether a name is free [takes a place](Self::wait) first, and looks then: a name that becomes free after the look is told
/// to whoever has a place by then. [`NameLocks`](super::NameLocks) does all of that.
pub struct Waiters<W>(Mutex<WaitQueues<W>>);

impl<W: Ord + Clone> Waiters<W> {
    /// Nobody; with room for so many places.
    #[must_use]
    pub fn new(limit: usize) -> Self {
        Self(Mutex::new(WaitQueues::new(limit)))
    }

    /// Takes a place in the line for a name, or the one that it has. Not if all places are taken.
    pub fn enqueue(&self, name: &ObjectKey, waiter: &W) -> bool {
        self.0.lock().enqueue(name, waiter)
    }

    /// Says in which version the lock was that is in the way: a cache that is before that does not know of it yet.
    pub fn set_lock_version(&self, name: &ObjectKey, version: Option<ResourceVersion>) {
        self.0.lock().set_lock_version(name, version);
    }

    /// A name is free: who is to be told, the longest waiting first. Who waits for it again before it is free the next time has the same
    /// place.
    pub fn notify(&self, name: &ObjectKey) -> Vec<W> {
        self.0.lock().notify(name)
    }

    /// Gives up a place.
    pub fn remove(&self, name: &ObjectKey, waiter: &W) {
        self.0.lock().remove(name, waiter);
    }

    /// Gives up all places of one.
    pub fn remove_all(&self, waiter: &W) {
        self.0.lock().remove_all(waiter);
    }

    /// The names that somebody is still to be told of, each with the version in which its lock was seen.
    pub fn awaited_names(&self) -> Vec<(ObjectKey, Option<ResourceVersion>)> {
        let queues = self.0.lock();
        queues.awaited_names().map(|(name, seen)| (name.clone(), seen.cloned())).collect()
    }

    /// Gives up the places of all for whom the function says no.
    pub fn retain(&self, exists: impl Fn(&W) -> bool) {
        let waiters: Vec<W> = self.0.lock().waiters().cloned().collect();
        for waiter in waiters.iter().filter(|waiter| !exists(waiter)) {
            self.remove_all(waiter);
        }
    }

    /// How many places are taken.
    #[must_use]
    pub fn len(&self) -> usize {
        self.0.lock().len()
    }

    /// Whether there are none.
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
