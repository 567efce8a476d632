//! A set of keys that knows what it costs.

use std::collections::{BTreeSet, btree_set};
use std::sync::Arc;

/// About what a key costs in memory besides its text: its places in the sets and indexes that it is in.
const KEY: usize = 128;

/// Keys, each once.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Keys {
    set: BTreeSet<Arc<str>>,
    cost: usize,
}

impl Keys {
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

    /// About how many bytes of memory it takes.
    pub(super) fn cost(&self) -> usize {
        self.cost
    }

    /// Whether it was not there.
    pub(super) fn insert(&mut self, key: &Arc<str>) -> bool {
        let new = self.set.insert(key.clone());
        if new {
            self.cost += cost(key);
        }
        new
    }

    /// Whether it was there.
    pub(super) fn remove(&mut self, key: &str) -> bool {
        let was = self.set.remove(key);
        if was {
            self.cost -= cost(key);
        }
        was
    }
}

impl<'a> FromIterator<&'a Arc<str>> for Keys {
    fn from_iter<I: IntoIterator<Item = &'a Arc<str>>>(keys: I) -> Self {
        let mut set = Self::default();
        for key in keys {
            set.insert(key);
        }
        set
    }
}

/// About what one key costs.
pub(super) fn cost(key: &str) -> usize {
    KEY + key.len()
}
