//! Somebody's interest in a key.

use std::fmt;
use std::sync::Arc;

use machinery_objects::EditNumber;
use tokio::time::Instant;

use super::interest_counts::Tenure;
use super::shared::{KeyedShared, SelectorKey};

/// An interest in a key: while there is one, what is under the key is known. Dropping the last lets all of that go, and tells
/// of it before the drop returns, or after the linger.
#[must_use = "dropping it ends the interest"]
pub struct Interest<F: SelectorKey, T: Send + Sync + 'static> {
    pub(super) shared: Arc<KeyedShared<F, T>>,
    pub(super) key: F,
    pub(super) tenure: Tenure,
}

/// Nothing more comes under a key.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("the informers have stopped: make others, and acquire the key again")]
pub struct Released;

impl<F: SelectorKey, T: Send + Sync + 'static> Interest<F, T> {
    /// The key.
    pub const fn key(&self) -> &F {
        &self.key
    }

    /// Waits until all that is under the key is known. Of a source that was restored it may have to come anew: what is under the key
    /// stays as it was last known, and is not complete before that.
    ///
    /// # Errors
    /// The informers have stopped.
    pub async fn synced(&self) -> Result<(), Released> {
        loop {
            let listener = self.shared.keyed_cache.listen();
            match self.shared.keyed_cache.completed(&self.key, self.tenure) {
                None => return Err(Released),
                Some(Some(_)) => return Ok(()),
                Some(None) => listener.await,
            }
        }
    }

    /// Whether all that is under the key is known.
    pub fn is_synced(&self) -> bool {
        self.completed().is_some()
    }

    /// The number with which the key has become complete, if all that is under it is known. A handler that was told
    /// [`Mark::Complete`](machinery_objects::Mark::Complete) of this number, or of a greater one, was told of all of that before; one
    /// that comes later is told such a mark after what is there.
    pub fn completed(&self) -> Option<EditNumber> {
        self.shared.keyed_cache.completed(&self.key, self.tenure).flatten()
    }
}

impl<F: SelectorKey, T: Send + Sync + 'static> Drop for Interest<F, T> {
    fn drop(&mut self) {
        self.shared.keyed_cache.release(&self.key, self.tenure, Instant::now().into_std());
    }
}

impl<F: SelectorKey, T: Send + Sync + 'static> fmt::Debug for Interest<F, T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Interest({}, synced: {})", self.key, self.is_synced())
    }
}
