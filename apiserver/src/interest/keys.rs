//! A set of keys that tracks its memory.

use std::collections::{BTreeSet, btree_set};
use std::sync::Arc;

/// Approximate memory of a key besides its text: entries in sets and indexes.
const KEY: usize = 128;

/// A set of keys.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct KeySet {
    set: BTreeSet<Arc<str>>,
    cost: usize,
}

impl KeySet {
    pub(super) fn contains(&self, key: &str) -> bool {
        self.set.contains(key)
    }

    pub(super) fn len(&self) -> usize {
        self.set.len()
    }

    pub(super) fn iter(&self) -> btree_set::Iter<'_, Arc<str>> {
        self.set.iter()
    }

    pub(super) const fn set(&self) -> &BTreeSet<Arc<str>> {
        &self.set
    }

    pub(super) fn into_set(self) -> BTreeSet<Arc<str>> {
        self.set
    }

    /// Approximate memory in bytes.
    pub(super) fn cost(&self) -> usize {
        self.cost
    }

    /// Returns `true` if the key was added.
    pub(super) fn insert(&mut self, key: &Arc<str>) -> bool {
        let new = self.set.insert(key.clone());
        if new {
            self.cost += cost(key);
        }
        new
    }

    /// Returns `true` if the key was removed.
    pub(super) fn remove(&mut self, key: &str) -> bool {
        let was = self.set.remove(key);
        if was {
            self.cost -= cost(key);
        }
        was
    }
}

impl<'a> FromIterator<&'a Arc<str>> for KeySet {
    fn from_iter<I: IntoIterator<Item = &'a Arc<str>>>(keys: I) -> Self {
        let mut set = Self::default();
        for key in keys {
            set.insert(key);
        }
        set
    }
}

/// Approximate memory of one key.
pub(super) fn cost(key: &str) -> usize {
    KEY + key.len()
}
