//! Some of the objects anew, between changes of the rest.

use std::collections::BTreeSet;

use foldhash::fast::FixedState;
use machinery_objects::ObjectKey;

use super::store::ListedKeys;

/// What has come of it.
pub(super) struct PartialRelist {
    pub(super) seen: ListedKeys,
    /// Those that are there and have not come, once there is no room but in their place.
    not_listed: Option<BTreeSet<ObjectKey>>,
}

impl PartialRelist {
    pub(super) fn new(seed: FixedState) -> Self {
        Self { seen: ListedKeys::with_hasher(seed), not_listed: None }
    }

    pub(super) fn contains(&self, key: &ObjectKey) -> bool {
        self.seen.contains(key)
    }

    /// Whether it comes for the first time.
    pub(super) fn mark_listed(&mut self, key: &ObjectKey) -> bool {
        self.mark_removed(key);
        self.seen.insert(key.clone())
    }

    /// It is not one of those that go when all has come: it is there, or has gone.
    pub(super) fn mark_removed(&mut self, key: &ObjectKey) {
        if let Some(not_listed) = &mut self.not_listed {
            not_listed.remove(key);
        }
    }

    /// How many of those that are there go when all has come, if none of them comes.
    pub(super) fn not_listed(&mut self, others: impl FnOnce(&ListedKeys) -> Vec<ObjectKey>) -> usize {
        self.not_listed.get_or_insert_with(|| others(&self.seen).into_iter().collect()).len()
    }
}
