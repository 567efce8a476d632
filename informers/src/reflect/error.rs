//! What keeps an informer from being up to date.

use std::time::Duration;

use machinery_objects::{ListError, ResourceVersion, WatchError};

/// Why an informer is not up to date. It tries again by itself.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum ReflectorError {
    /// The source did not list.
    #[error(transparent)]
    List(ListError),
    /// The source did not watch.
    #[error(transparent)]
    Watch(WatchError),
    /// Nothing came on a watch for so long that it must be dead.
    #[error("the watch was silent for {0:?}, and is begun again")]
    Silent(Duration),
    /// Watches end as soon as they have begun, without a word.
    #[error("the source ends watches at once, see whether a proxy between does")]
    Short,
    /// A list had no end.
    #[error("the list is longer than {limit} {of}, select less or raise the limit")]
    Endless {
        /// How many there may be.
        limit: u64,
        /// Of what.
        of: &'static str,
    },
    /// There are more objects than the cache may have.
    #[error("the cache has {limit} objects and does not take more, select less or raise the limit")]
    Full {
        /// How many it may have.
        limit: usize,
    },
    /// The source shows less than it has shown already.
    #[error("the source is at version {found}, and was at {seen}: it is behind, or was restored")]
    Behind {
        /// How far it is.
        found: ResourceVersion,
        /// How far it was.
        seen: ResourceVersion,
    },
    /// The state was watched, and its end never came.
    #[error("the source does not say where the state of a watch ends, and is listed instead")]
    NoEnd,
}

impl ReflectorError {
    /// Whether the source shows less than it once did: it is behind, or was restored.
    pub(crate) const fn is_behind(&self) -> bool {
        matches!(self, Self::Behind { .. } | Self::Watch(WatchError::FutureRevision { .. }))
    }
}
