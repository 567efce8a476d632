//! Errors of lists, watches and writes.
//!
//! One enum per family of operations. Each wraps [`SourceError`] for the errors that all families
//! share.

use std::time::Duration;

use crate::{Continue, Fence, ResourceVersion, Uid};

/// An error that any operation of a source can return.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum SourceError {
    /// The credentials were rejected (HTTP 401).
    #[error("the source does not accept these credentials: {reason}")]
    Unauthorized {
        /// The message of the source.
        reason: String,
    },
    /// The user lacks the permission (HTTP 403).
    #[error("not allowed, request the permission: {reason}")]
    Forbidden {
        /// The message of the source.
        reason: String,
    },
    /// The source does not serve the kind; it may be installed later.
    #[error("the source does not serve this kind: {reason}")]
    NotServed {
        /// The message of the source.
        reason: String,
    },
    /// The request is invalid; a retry does not help.
    #[error("the source refuses the request as wrong: {reason}")]
    Invalid {
        /// The message of the source.
        reason: String,
        /// The invalid fields, if the source lists them.
        causes: Vec<InvalidField>,
    },
    /// The source does not support the operation; see its capabilities.
    #[error("this source has no {what}, see its capabilities")]
    Unsupported {
        /// The unsupported operation or option.
        what: &'static str,
    },
    /// The source limits the rate of requests (HTTP 429): wait, then retry.
    #[error("the source has too many requests, try later")]
    TooManyRequests {
        /// Delay before a retry, if the source gives one.
        retry_after: Option<Duration>,
    },
    /// The source is unreachable or temporarily unavailable: wait, then retry.
    #[error("the source cannot answer now, try later: {reason}")]
    Unavailable {
        /// The message of the source, or of the client that failed to reach it.
        reason: String,
        /// Delay before a retry, if the source gives one.
        retry_after: Option<Duration>,
    },
    /// The response did not arrive in time: retry. A write with an unknown outcome is
    /// [`WriteError::UnknownOutcome`] instead.
    #[error("the source did not answer in time")]
    TimedOut,
    /// The response cannot be parsed, or holds an object without name or version.
    #[error("the response of the source cannot be decoded: {reason}")]
    Malformed {
        /// The parse error.
        reason: String,
    },
}

/// An invalid field of a request.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct InvalidField {
    /// The path of the field, such as `spec.ports[0].name`.
    pub field: String,
    /// The reason.
    pub reason: String,
}

impl SourceError {
    /// Returns whether a later retry of the same request may succeed.
    #[must_use]
    pub const fn is_transient(&self) -> bool {
        matches!(self, Self::TooManyRequests { .. } | Self::Unavailable { .. } | Self::TimedOut)
    }

    /// Returns the delay before a retry, if the source gives one.
    #[must_use]
    pub const fn retry_after(&self) -> Option<Duration> {
        match self {
            Self::TooManyRequests { retry_after } | Self::Unavailable { retry_after, .. } => *retry_after,
            _ => None,
        }
    }
}

/// An error of a list or of one of its pages.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum ListError {
    /// The version, or that of the preceding page, is compacted: start a new list.
    #[error("this version of the list is compacted, start a new list")]
    Expired {
        /// Continues with the rest of the list at the current version, for callers that accept
        /// pages of different versions.
        rest: Option<Continue>,
    },
    /// The source has not reached this version yet: wait, or list without a version.
    #[error("the source has not reached this version yet, try later or request the newest")]
    FutureRevision {
        /// The newest version of the source, if it gives one.
        newest: Option<ResourceVersion>,
        /// Delay before a retry, if the source gives one.
        retry_after: Option<Duration>,
    },
    /// An error that any operation can return.
    #[error(transparent)]
    Source(#[from] SourceError),
}

/// An error of a watch, when it starts or later.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum WatchError {
    /// The history after the version is compacted: list, and watch from the version of the list.
    #[error("the history after this version is compacted, relist and watch again")]
    Expired,
    /// The source has not reached this version yet: wait.
    #[error("the source has not reached this version yet, try later or relist")]
    FutureRevision {
        /// The newest version of the source, if it gives one.
        newest: Option<ResourceVersion>,
        /// Delay before a retry, if the source gives one.
        retry_after: Option<Duration>,
    },
    /// The reader was too slow, and the source closed the watch: resume it from the last version.
    #[error("the watch was ended because it was read too slowly, resume it")]
    TooSlow,
    /// The watch of the edited interest has ended.
    #[error("the watch has ended, open another")]
    Ended,
    /// An error that any operation can return.
    #[error(transparent)]
    Source(#[from] SourceError),
}

/// An error of a write, or an unknown outcome.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum WriteError {
    /// No object has this key.
    #[error("there is no such object")]
    NotFound,
    /// An object with this key exists.
    #[error("an object with this name exists already")]
    AlreadyExists {
        /// The UID of the existing object, if the source gives it.
        uid: Option<Uid>,
    },
    /// A precondition does not hold: read the object, and decide again.
    #[error("nothing was written: {0}")]
    Conflict(Conflict),
    /// The write may have been committed, or may be later: read until the outcome is clear, or
    /// retry with a precondition that makes a second write harmless.
    #[error("it is not known whether this was written: {reason}")]
    UnknownOutcome {
        /// The cause.
        reason: String,
    },
    /// The write was not committed, by an error that any operation can return.
    #[error(transparent)]
    Source(#[from] SourceError),
}

/// The precondition of a write that does not hold.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum Conflict {
    /// The key now belongs to another object.
    #[error("another object has this name now")]
    Uid {
        /// Its UID, if the source gives it.
        found: Option<Uid>,
    },
    /// The object was modified meanwhile.
    #[error("the object was changed since it was read")]
    Version {
        /// Its current version, if the source gives it.
        found: Option<ResourceVersion>,
    },
    /// The fence is stale: the lease or lock was lost. Stop, or acquire it again.
    #[error("{} is gone, or has passed to another", .0.object())]
    Fence(Box<Fence>),
    /// A guard found a violation of a cross-object invariant.
    #[error("guard `{guard}` refuses: {reason}")]
    Guard {
        /// The name of the guard.
        guard: String,
        /// The violation.
        reason: String,
    },
    /// The source does not report which one, as plain Kubernetes does not.
    #[error("{reason}")]
    Unspecified {
        /// The message of the source.
        reason: String,
    },
}
