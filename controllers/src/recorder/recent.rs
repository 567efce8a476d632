//! A bounded map of recently used entries.

use std::hash::Hash;

use foldhash::fast::FixedState;
use hashbrown::HashMap;

/// A map with a limit; when it is full, the least recently used half is evicted.
pub(super) struct RecentMap<K, V> {
    limit: usize,
    of: HashMap<K, (u64, V), FixedState>,
    next: u64,
}

impl<K: Eq + Hash, V> RecentMap<K, V> {
    pub(super) fn new(limit: usize) -> Self {
        Self { limit: limit.max(2), of: HashMap::with_hasher(FixedState::with_seed(0)), next: 0 }
    }

    /// Returns the entry, inserting it if missing.
    pub(super) fn entry(&mut self, key: K, make: impl FnOnce() -> V) -> &mut V {
        self.next += 1;
        if self.of.len() >= self.limit && !self.of.contains_key(&key) {
            // Half at once: a linear pass per many insertions, and no list in the order of use.
            let mut used: Vec<u64> = self.of.values().map(|(used, _)| *used).collect();
            let (_, middle, _) = used.select_nth_unstable(self.limit / 2);
            let middle = *middle;
            self.of.retain(|_, (used, _)| *used > middle);
        }
        let (used, value) = self.of.entry(key).or_insert_with(|| (0, make()));
        *used = self.next;
        value
    }

    pub(super) fn remove(&mut self, key: &K) {
        self.of.remove(key);
    }

    #[cfg(test)]
    pub(super) fn len(&self) -> usize {
        self.of.len()
    }
}
