//! Batches: several keys in one hand-out, each as exclusive as a single one.

use crate::Key;
use crate::core::Handout;
use crate::shared::Shared;
use crate::work::{self, Work};
use std::fmt;
use std::sync::Arc;

/// Keys taken together, at least one. Complete them together with [`Batch::done`], or one by one by
/// iteration.
///
/// Dropping a batch abandons its keys, and each is retried.
#[must_use = "a batch that is dropped is retried; answer it with done, or work by work"]
pub struct Batch<K: Key> {
    shared: Arc<Shared<K>>,
    handouts: Vec<Handout<K>>,
}

/// The works of a batch, in hand-out order.
pub struct BatchIter<K: Key> {
    shared: Arc<Shared<K>>,
    rest: std::vec::IntoIter<Handout<K>>,
}

impl<K: Key> Batch<K> {
    pub(crate) fn new(shared: Arc<Shared<K>>, handouts: Vec<Handout<K>>) -> Self {
        Self { shared, handouts }
    }

    /// Returns the keys in hand-out order.
    pub fn keys(&self) -> impl Iterator<Item = &K> {
        self.handouts.iter().map(|handout| &handout.key)
    }

    /// Returns the number of keys, at least one.
    #[expect(clippy::len_without_is_empty, reason = "a batch is never empty")]
    pub fn len(&self) -> usize {
        self.handouts.len()
    }

    /// Completes all keys, as [`Work::done`] does.
    pub fn done(mut self) {
        let now = self.shared.clock.coarse();
        let handouts = std::mem::take(&mut self.handouts);
        // Allocated before the lock is taken; the keys in it are dropped after it.
        let mut ended = Vec::with_capacity(handouts.len());
        self.shared.with(|core| {
            for handout in &handouts {
                ended.extend(core.done(now, handout.slot));
            }
        });
    }
}

impl<K: Key> IntoIterator for Batch<K> {
    type Item = Work<K>;
    type IntoIter = BatchIter<K>;

    fn into_iter(mut self) -> BatchIter<K> {
        BatchIter { shared: self.shared.clone(), rest: std::mem::take(&mut self.handouts).into_iter() }
    }
}

impl<K: Key> Iterator for BatchIter<K> {
    type Item = Work<K>;

    fn next(&mut self) -> Option<Work<K>> {
        self.rest.next().map(|handout| Work::new(self.shared.clone(), handout))
    }

    fn size_hint(&self) -> (usize, Option<usize>) {
        self.rest.size_hint()
    }
}

impl<K: Key> Drop for Batch<K> {
    fn drop(&mut self) {
        work::abandon(&self.shared, &self.handouts);
    }
}

impl<K: Key> Drop for BatchIter<K> {
    fn drop(&mut self) {
        work::abandon(&self.shared, self.rest.as_slice());
    }
}

impl<K: Key + fmt::Debug> fmt::Debug for Batch<K> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_list().entries(self.keys()).finish()
    }
}

impl<K: Key> fmt::Debug for BatchIter<K> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("BatchIter").field("left", &self.rest.len()).finish()
    }
}
