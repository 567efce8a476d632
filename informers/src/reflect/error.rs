//! The errors of a reflector.

use std::time::Duration;

use machinery_objects::{ListError, ResourceVersion, SourceError, WatchError};

/// The reason why an informer is not up to date. The reflector retries by itself.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum ReflectorError {
    /// A list failed.
    #[error(transparent)]
    List(ListError),
    /// A watch failed.
    #[error(transparent)]
    Watch(WatchError),
    /// A watch was silent for longer than its limit.
    #[error("the watch was silent for {0:?}, and is restarted")]
    Silent(Duration),
    /// Watches end as soon as they are opened, without an event.
    #[error("the source ends watches at once, check whether a proxy does")]
    Short,
    /// A list, or a streamed state, exceeds a limit.
    #[error("the list is longer than {limit} {of}, select less or raise the limit")]
    Endless {
        /// The limit.
        limit: u64,
        /// The unit of the limit.
        of: &'static str,
    },
    /// There are more objects than the cache may hold.
    #[error("the cache has {limit} objects and does not take more, select less or raise the limit")]
    Full {
        /// The limit.
        limit: usize,
    },
    /// The source is at an earlier version than the cache.
    #[error("the source is at version {found}, and was at {seen}: it is behind, or was restored")]
    Behind {
        /// The version of the source.
        found: ResourceVersion,
        /// The version of the cache.
        seen: ResourceVersion,
    },
    /// A streamed state did not end.
    #[error("the source did not mark the end of the streamed state, and is listed instead")]
    NoEnd,
}

impl ReflectorError {
    /// Returns the error of the source, if a request failed.
    const fn source(&self) -> Option<&SourceError> {
        match self {
            Self::List(ListError::Source(error)) | Self::Watch(WatchError::Source(error)) => Some(error),
            _ => None,
        }
    }

    /// Returns whether the source refuses the request itself, for instance a field that is not
    /// selectable: a retry does not help.
    #[must_use]
    pub const fn is_refusal(&self) -> bool {
        matches!(self.source(), Some(SourceError::Invalid { .. }))
    }

    /// Returns whether the source does not serve the kind. It may be defined later.
    #[must_use]
    pub const fn is_not_served(&self) -> bool {
        matches!(self.source(), Some(SourceError::NotServed { .. }))
    }

    /// Returns whether the source is behind the cache, or was restored.
    pub(crate) const fn is_behind(&self) -> bool {
        matches!(self, Self::Behind { .. } | Self::Watch(WatchError::FutureRevision { .. }))
    }
}
