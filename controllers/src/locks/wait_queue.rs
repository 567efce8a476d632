//! Wait queues of names, in order of arrival. Pure.

use std::collections::{BTreeMap, BTreeSet};

use machinery_objects::{ObjectKey, ResourceVersion};

/// Wait queues by name.
///
/// A notified waiter keeps its position until the next release: if another claimant was faster, it
/// precedes later waiters. It loses the position if it has not claimed again by then.
pub(super) struct WaitQueues<W> {
    limit: usize,
    queues: BTreeMap<ObjectKey, WaitQueue<W>>,
    /// Names that each waiter waits for.
    of: BTreeMap<W, BTreeSet<ObjectKey>>,
    entries: usize,
    next: u64,
}

struct WaitQueue<W> {
    entries: BTreeMap<W, QueuedWaiter>,
    /// Version at which the blocking lock was seen.
    seen: Option<ResourceVersion>,
}

struct QueuedWaiter {
    number: u64,
    /// Not notified since its last claim.
    is_waiting: bool,
}

impl<W: Ord + Clone> WaitQueues<W> {
    pub(super) const fn new(limit: usize) -> Self {
        Self { limit, queues: BTreeMap::new(), of: BTreeMap::new(), entries: 0, next: 0 }
    }

    /// Enqueues a waiter, or keeps its position; returns `false` at the limit.
    pub(super) fn enqueue(&mut self, name: &ObjectKey, waiter: &W) -> bool {
        if let Some(entry) = self.queues.get_mut(name).and_then(|queue| queue.entries.get_mut(waiter)) {
            entry.is_waiting = true;
            return true;
        }
        // Notified waiters may never claim again; a new one waits certainly.
        if self.entries >= self.limit {
            self.evict_notified();
        }
        if self.entries >= self.limit {
            return false;
        }
        let queue = self
            .queues
            .entry(name.clone())
            .or_insert_with(|| WaitQueue { entries: BTreeMap::new(), seen: None });
        queue.entries.insert(waiter.clone(), QueuedWaiter { number: self.next, is_waiting: true });
        self.of.entry(waiter.clone()).or_default().insert(name.clone());
        self.next += 1;
        self.entries += 1;
        true
    }

    /// Records the version at which the blocking lock was seen.
    pub(super) fn set_lock_version(&mut self, name: &ObjectKey, version: Option<ResourceVersion>) {
        if let Some(queue) = self.queues.get_mut(name) {
            queue.seen = version;
        }
    }

    /// Returns the waiters to notify of a release, in order, and drops those that did not claim
    /// again since the last one.
    pub(super) fn notify(&mut self, name: &ObjectKey) -> Vec<W> {
        let Some(queue) = self.queues.get_mut(name) else { return Vec::new() };
        queue.seen = None;
        let gone = queue
            .entries
            .extract_if(.., |_, entry| !entry.is_waiting)
            .map(|(waiter, _)| waiter)
            .collect::<Vec<_>>();
        // All of them: if only the first were notified, and claims no more, the name stays free.
        let mut notified: Vec<_> =
            queue.entries.iter().map(|(waiter, entry)| (entry.number, waiter.clone())).collect();
        notified.sort_unstable_by_key(|(number, _)| *number);
        for entry in queue.entries.values_mut() {
            entry.is_waiting = false;
        }
        self.entries -= gone.len();
        for waiter in gone {
            self.unlink(name, &waiter);
        }
        self.drop_if_empty(name);
        notified.into_iter().map(|(_, waiter)| waiter).collect()
    }

    /// Removes a waiter from one queue.
    pub(super) fn remove(&mut self, name: &ObjectKey, waiter: &W) {
        let Some(queue) = self.queues.get_mut(name) else { return };
        if queue.entries.remove(waiter).is_some() {
            self.entries -= 1;
            self.unlink(name, waiter);
            self.drop_if_empty(name);
        }
    }

    /// Removes a waiter from all queues.
    pub(super) fn remove_all(&mut self, waiter: &W) {
        for name in self.of.get(waiter).cloned().unwrap_or_default() {
            self.remove(&name, waiter);
        }
    }

    /// Returns the names with waiters to notify, and the version at which each lock was seen.
    pub(super) fn awaited_names(&self) -> impl Iterator<Item = (&ObjectKey, Option<&ResourceVersion>)> {
        let waited = |queue: &WaitQueue<W>| queue.entries.values().any(|entry| entry.is_waiting);
        self.queues
            .iter()
            .filter(move |(_, queue)| waited(queue))
            .map(|(name, queue)| (name, queue.seen.as_ref()))
    }

    /// Returns all waiters.
    pub(super) fn waiters(&self) -> impl Iterator<Item = &W> {
        self.of.keys()
    }

    pub(super) const fn len(&self) -> usize {
        self.entries
    }

    /// Evicts waiters that were already notified.
    fn evict_notified(&mut self) {
        let notified = self.queues.iter().flat_map(|(name, queue)| {
            queue
                .entries
                .iter()
                .filter(|(_, entry)| !entry.is_waiting)
                .map(|(waiter, _)| (name.clone(), waiter.clone()))
        });
        for (name, waiter) in notified.collect::<Vec<_>>() {
            self.remove(&name, &waiter);
        }
    }

    fn unlink(&mut self, name: &ObjectKey, waiter: &W) {
        if let Some(names) = self.of.get_mut(waiter) {
            names.remove(name);
            if names.is_empty() {
                self.of.remove(waiter);
            }
        }
    }

    fn drop_if_empty(&mut self, name: &ObjectKey) {
        if self.queues.get(name).is_some_and(|queue| queue.entries.is_empty()) {
            self.queues.remove(name);
        }
    }
}
