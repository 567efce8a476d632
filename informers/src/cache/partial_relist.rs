//! A list of the objects of some keys, interleaved with changes of the others.

use std::collections::BTreeSet;

use foldhash::fast::FixedState;
use machinery_objects::ObjectKey;

use super::store::ListedKeys;

/// The keys that a partial relist has listed so far.
pub(super) struct PartialRelist {
    pub(super) seen: ListedKeys,
    /// Cached objects that were not listed; computed once the cache has no free capacity.
    not_listed: Option<BTreeSet<ObjectKey>>,
}

impl PartialRelist {
    pub(super) fn new(seed: FixedState) -> Self {
        Self { seen: ListedKeys::with_hasher(seed), not_listed: None }
    }

    pub(super) fn contains(&self, key: &ObjectKey) -> bool {
        self.seen.contains(key)
    }

    /// Records that an object was listed; returns whether for the first time.
    pub(super) fn mark_listed(&mut self, key: &ObjectKey) -> bool {
        self.mark_removed(key);
        self.seen.insert(key.clone())
    }

    /// Records that an object is listed or deleted, so the end of the relist does not delete it.
    pub(super) fn mark_removed(&mut self, key: &ObjectKey) {
        if let Some(not_listed) = &mut self.not_listed {
            not_listed.remove(key);
        }
    }

    /// Number of cached objects that the partial relist deletes unless they are listed again.
    pub(super) fn not_listed(&mut self, others: impl FnOnce(&ListedKeys) -> Vec<ObjectKey>) -> usize {
        self.not_listed.get_or_insert_with(|| others(&self.seen).into_iter().collect()).len()
    }
}
