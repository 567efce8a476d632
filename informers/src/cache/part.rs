//! Some of the objects anew, between changes of the rest.

use std::collections::BTreeSet;

use foldhash::fast::FixedState;
use machinery_objects::ObjectKey;

use super::shelf::Seen;

/// What has come of it.
pub(super) struct Part {
    pub(super) seen: Seen,
    /// Those that are there and have not come, once there is no room but in their place.
    unseen: Option<BTreeSet<ObjectKey>>,
}

impl Part {
    pub(super) fn new(seed: FixedState) -> Self {
        Self { seen: Seen::with_hasher(seed), unseen: None }
    }

    pub(super) fn has(&self, key: &ObjectKey) -> bool {
        self.seen.contains(key)
    }

    /// Whether it comes for the first time.
    pub(super) fn comes(&mut self, key: &ObjectKey) -> bool {
        self.goes(key);
        self.seen.insert(key.clone())
    }

    /// It is not one of those that go when all has come: it is there, or has gone.
    pub(super) fn goes(&mut self, key: &ObjectKey) {
        if let Some(unseen) = &mut self.unseen {
            unseen.remove(key);
        }
    }

    /// How many of those that are there go when all has come, if none of them comes.
    pub(super) fn unseen(&mut self, others: impl FnOnce(&Seen) -> Vec<ObjectKey>) -> usize {
        self.unseen.get_or_insert_with(|| others(&self.seen).into_iter().collect()).len()
    }
}
