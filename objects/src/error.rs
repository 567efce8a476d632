//! What can go wrong between a program and whoever has the objects.
//!
//! There is an enum for each family of operations. What is not peculiar to a family is a [`SourceError`] in each.

use std::time::Duration;

use crate::{Continue, Fence, ResourceVersion, Uid};

/// Why a source did not answer, whatever it was asked.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum SourceError {
    /// It does not know who asks.
    #[error("the source does not accept these credentials: {reason}")]
    Unauthorized {
        /// In its words.
        reason: String,
    },
    /// It knows who asks, and does not allow it.
    #[error("not allowed, ask for the right to it: {reason}")]
    Forbidden {
        /// In its words.
        reason: String,
    },
    /// It has no such kind; one may be installed later.
    #[error("the source does not serve this kind: {reason}")]
    NotServed {
        /// In its words.
        reason: String,
    },
    /// The request makes no sense to it, and never will.
    #[error("the source refuses the request as wrong: {reason}")]
    Invalid {
        /// In its words.
        reason: String,
        /// Field by field, where it says so.
        causes: Vec<InvalidField>,
    },
    /// It cannot do this for anybody. Its capabilities would have told.
    #[error("this source has no {what}, see its capabilities")]
    Unsupported {
        /// What was asked for.
        what: &'static str,
    },
    /// It is asked too much: wait, then ask the same.
    #[error("the source has too many requests, try later")]
    TooManyRequests {
        /// How long, if it says so.
        retry_after: Option<Duration>,
    },
    /// It cannot be reached, or cannot answer now: wait, then ask the same.
    #[error("the source cannot answer now, try later: {reason}")]
    Unavailable {
        /// In its words, or in those of whoever tried.
        reason: String,
        /// How long, if it says so.
        retry_after: Option<Duration>,
    },
    /// It did not answer in time: ask the same again. Of a write whose outcome is open it is
    /// [`WriteError::UnknownOutcome`] instead.
    #[error("the source did not answer in time")]
    TimedOut,
    /// What came is not an answer, or an object without name or version.
    #[error("the answer of the source cannot be read: {reason}")]
    Malformed {
        /// What is wrong with it.
        reason: String,
    },
}

/// A field that a request has wrong.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct InvalidField {
    /// Where: `spec.ports[0].name`.
    pub field: String,
    /// What is wrong with it.
    pub reason: String,
}

impl SourceError {
    /// Whether asking the same again, later, may help by itself.
    #[must_use]
    pub const fn is_transient(&self) -> bool {
        matches!(self, Self::TooManyRequests { .. } | Self::Unavailable { .. } | Self::TimedOut)
    }

    /// How long to wait before that, if the source says so.
    #[must_use]
    pub const fn retry_after(&self) -> Option<Duration> {
        match self {
            Self::TooManyRequests { retry_after } | Self::Unavailable { retry_after, .. } => *retry_after,
            _ => None,
        }
    }
}

/// Why there is no list, or no page of it.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum ListError {
    /// The version, or that of the page before, is compacted away: list anew.
    #[error("this version of the list is no longer kept, list anew")]
    Expired {
        /// Goes on with the rest of the list as it is now, for those to whom one moment for all pages is not worth a
        /// new list.
        rest: Option<Continue>,
    },
    /// The source has not come to this version yet: wait, or list without it.
    #[error("the source has not come to this version yet, try later or ask for the newest")]
    FutureRevision {
        /// How far it is, if it says so.
        newest: Option<ResourceVersion>,
        /// How long to wait, if it says so.
        retry_after: Option<Duration>,
    },
    /// It did not answer.
    #[error(transparent)]
    Source(#[from] SourceError),
}

/// Why a watch did not begin, or ended before its time.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum WatchError {
    /// What came after the version is compacted away: list, and watch from there.
    #[error("what came after this version is no longer kept, list and watch anew")]
    Expired,
    /// The source has not come to this version yet: wait.
    #[error("the source has not come to this version yet, try later or list anew")]
    FutureRevision {
        /// How far it is, if it says so.
        newest: Option<ResourceVersion>,
        /// How long to wait, if it says so.
        retry_after: Option<Duration>,
    },
    /// The reader was so slow that the source ended the watch: watch on from the last version, and read faster.
    #[error("the watch was ended because it was read too slowly, resume it")]
    TooSlow,
    /// The watch whose interest was to be edited has ended.
    #[error("the watch has ended, open another")]
    Ended,
    /// It did not answer.
    #[error(transparent)]
    Source(#[from] SourceError),
}

/// Why a write was not done, or may not have been.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum WriteError {
    /// There is no object with this key.
    #[error("there is no such object")]
    NotFound,
    /// There is one already.
    #[error("an object with this name is there already")]
    AlreadyExists {
        /// Which, if the source says so.
        uid: Option<Uid>,
    },
    /// A condition of the write does not hold: read again, and decide again.
    #[error("nothing was written: {0}")]
    Conflict(Conflict),
    /// It may be done or not, now or in a while: read until that is clear, or write with a precondition that makes a
    /// second time harmless.
    #[error("it is not known whether this was written: {reason}")]
    UnknownOutcome {
        /// What happened.
        reason: String,
    },
    /// It was not done.
    #[error(transparent)]
    Source(#[from] SourceError),
}

/// Which condition of a write does not hold.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum Conflict {
    /// Another object has the key now.
    #[error("the object is not the one that was meant, but another of its name")]
    Uid {
        /// Which, if the source says so.
        found: Option<Uid>,
    },
    /// The object was written since.
    #[error("the object was changed since it was read")]
    Version {
        /// How it is now, if the source says so.
        found: Option<ResourceVersion>,
    },
    /// What the writer acted under is no longer the writer's: stop, and take it again or let it be.
    #[error("{} is gone, or has passed to another", .0.object())]
    Fence(Box<Fence>),
    /// Another object stands in the way.
    #[error("guard `{guard}` refuses: {reason}")]
    Guard {
        /// Which guard.
        guard: String,
        /// Why.
        reason: String,
    },
    /// The source does not say which, as plain Kubernetes does not.
    #[error("{reason}")]
    Unspecified {
        /// In its words.
        reason: String,
    },
}
