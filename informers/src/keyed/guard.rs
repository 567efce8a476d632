//! The guard of an interest in a key.

use std::fmt;
use std::sync::Arc;

use machinery_objects::EditNumber;
use tokio::time::Instant;

use super::interest_counts::Tenure;
use super::shared::{KeyedShared, SelectorKey};
use crate::reflect::ReflectorError;

/// An interest in a key, which keeps the objects under the key cached. Dropping the last interest
/// releases them and notifies handlers before the drop returns, or after the linger time.
#[must_use = "dropping it ends the interest"]
pub struct Interest<F: SelectorKey, T: Send + Sync + 'static> {
    pub(super) shared: Arc<KeyedShared<F, T>>,
    pub(super) key: F,
    pub(super) tenure: Tenure,
}

/// The reason why the objects under a key will not be cached.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum InterestError {
    /// The informers have stopped.
    #[error("the informers have stopped: make others, and acquire the key again")]
    Released,
    /// The source refuses to select objects by this key, or does not serve their kind. The request
    /// is retried with a back-off.
    #[error(
        "nothing can be selected by this key: {reason}. A field has to be selectable (`selectableFields` of the \
         definition, `selectable` of `kinds!`), and the kind served"
    )]
    Refused {
        /// The error of the source.
        reason: ReflectorError,
    },
}

impl<F: SelectorKey, T: Send + Sync + 'static> Interest<F, T> {
    /// Returns the key.
    pub const fn key(&self) -> &F {
        &self.key
    }

    /// Waits until all objects under the key are cached. After a restore of the source a key is
    /// incomplete until it is relisted; until then its last known objects stay cached. Cancel safe.
    ///
    /// # Errors
    /// The informers have stopped, or the source refuses the key.
    pub async fn synced(&self) -> Result<(), InterestError> {
        loop {
            let listener = self.shared.keyed_cache.listen();
            match self.shared.keyed_cache.completed(&self.key, self.tenure) {
                None => return Err(InterestError::Released),
                Some(Some(_)) => return Ok(()),
                Some(None) => {}
            }
            if let Some(reason) = self.shared.report.lock().refusal(self.tenure) {
                return Err(InterestError::Refused { reason });
            }
            listener.await;
        }
    }

    /// Returns whether all objects under the key are cached.
    pub fn is_synced(&self) -> bool {
        self.completed().is_some()
    }

    /// Returns the completion number of the key, `None` while the key is incomplete. A handler that
    /// receives [`Bookmark::Complete`](machinery_objects::Bookmark::Complete) with this or a
    /// greater number has received all objects of the key; a handler that is added later receives
    /// the mark after the cached objects.
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
