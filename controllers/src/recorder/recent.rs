//! A map of what was used of late.

use std::hash::Hash;

use foldhash::fast::FixedState;
use hashbrown::HashMap;

/// So many at the most: when it is full, the half that was used longest ago goes.
pub(super) struct RecentMap<K, V> {
    limit: usize,
    of: HashMap<K, (u64, V), FixedState>,
    next: u64,
}

impl<K: Eq + Hash, V> RecentMap<K, V> {
    pub(super) fn new(limit: usize) -> Self {
        Self { limit: limit.max(2), of: HashMap::with_hasher(FixedState::with_seed(0)), next: 0 }
    }

    /// What is there, or what is made now.
    pub(super) fn entry(&mut self, key: K, make: impl FnOnce() -> V) -> &mut V {
        self.next += 1;
        if self.of.len() >= self.limit && !self.of.contains_key(&key) {
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
