//! Who waits for which name, in the order in which they came. Pure.

use std::collections::{BTreeMap, BTreeSet};

use machinery_objects::{ObjectKey, ResourceVersion};

/// Who waits for which names.
///
/// Whoever is told that a name is free keeps the place until it is free again: if another was faster, it is its turn before those that came
/// after it. Who does not come again by then has lost it.
pub(super) struct WaitQueues<W> {
    limit: usize,
    queues: BTreeMap<ObjectKey, WaitQueue<W>>,
    /// In which lines each has a place.
    of: BTreeMap<W, BTreeSet<ObjectKey>>,
    entries: usize,
    next: u64,
}

struct WaitQueue<W> {
    entries: BTreeMap<W, QueuedWaiter>,
    /// The lock that was in the way was seen in this version.
    seen: Option<ResourceVersion>,
}

struct QueuedWaiter {
    number: u64,
    /// It has not been told since it came.
    is_waiting: bool,
}

impl<W: Ord + Clone> WaitQueues<W> {
    pub(super) const fn new(limit: usize) -> Self {
        Self { limit, queues: BTreeMap::new(), of: BTreeMap::new(), entries: 0, next: 0 }
    }

    /// Takes a place, or the one that it has. Whether there was one.
    pub(super) fn enqueue(&mut self, name: &ObjectKey, waiter: &W) -> bool {
        if let Some(entry) = self.queues.get_mut(name).and_then(|queue| queue.entries.get_mut(waiter)) {
            entry.is_waiting = true;
            return true;
        }
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

    /// Says in which version the lock was that is in the way.
    pub(super) fn set_lock_version(&mut self, name: &ObjectKey, version: Option<ResourceVersion>) {
        if let Some(queue) = self.queues.get_mut(name) {
            queue.seen = version;
        }
    }

    /// The name is free: who is to be told, the longest waiting first.
    pub(super) fn notify(&mut self, name: &ObjectKey) -> Vec<W> {
        let Some(queue) = self.queues.get_mut(name) else { return Vec::new() };
        queue.seen = None;
        let gone = queue
            .entries
            .extract_if(.., |_, entry| !entry.is_waiting)
            .map(|(waiter, _)| waiter)
            .collect::<Vec<_>>();
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

    /// It has the name, or wants it no more.
    pub(super) fn remove(&mut self, name: &ObjectKey, waiter: &W) {
        let Some(queue) = self.queues.get_mut(name) else { return };
        if queue.entries.remove(waiter).is_some() {
            self.entries -= 1;
            self.unlink(name, waiter);
            self.drop_if_empty(name);
        }
    }

    /// It wants nothing any more.
    pub(super) fn remove_all(&mut self, waiter: &W) {
        for name in self.of.get(waiter).cloned().unwrap_or_default() {
            self.remove(&name, waiter);
        }
    }

    /// The names that somebody is still to be told of, each with the version in which its lock was seen.
    pub(super) fn awaited_names(&self) -> impl Iterator<Item = (&ObjectKey, Option<&ResourceVersion>)> {
        let waited = |queue: &WaitQueue<W>| queue.entries.values().any(|entry| entry.is_waiting);
        self.queues
            .iter()
            .filter(move |(_, queue)| waited(queue))
            .map(|(name, queue)| (name, queue.seen.as_ref()))
    }

    /// Everybody who has a place.
    pub(super) fn waiters(&self) -> impl Iterator<Item = &W> {
        self.of.keys()
    }

    pub(super) const fn len(&self) -> usize {
        self.entries
    }

    /// Those who were told, and may come again or not, make room for others.
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
