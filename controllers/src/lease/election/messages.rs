//! What an election is told, and what it wants.

use std::sync::Arc;
use std::time::Instant;

use jiff::Timestamp;
use machinery_objects::{ListError, Uid, WriteError};

use crate::lease::Lease;

/// The time, twice.
#[derive(Clone, Copy, Debug)]
pub(crate) struct ElectionTime {
    /// By which everything is decided. It never goes back.
    pub(crate) at: Instant,
    /// What is written into the Lease, for people.
    pub(crate) wall: Timestamp,
}

/// What an election is told.
#[derive(Debug)]
pub(crate) enum Input {
    /// It is later: what was due is due.
    Tick,
    /// What there is.
    Read(Result<Option<Arc<Lease>>, ListError>),
    /// What came of a write.
    Wrote(Result<Lease, WriteError>),
    /// What was done while it led has ended: it may lead again.
    Rejoin,
    /// It is to lead no more, and nothing is done any more: others may begin at once.
    Resign,
}

/// What an election wants.
#[derive(Debug, PartialEq)]
pub(crate) struct Output {
    /// What is so now, and was not.
    pub(crate) change: Option<LeadershipChange>,
    /// What is to be done.
    pub(crate) action: Action,
}

/// Who leads.
#[derive(Clone, Debug, PartialEq)]
pub(crate) enum LeadershipChange {
    /// It does, from now on, under these.
    Acquired {
        /// Of the Lease.
        uid: Uid,
        /// Of the Lease.
        epoch: u64,
    },
    /// It does no more.
    Lost(Loss),
}

/// Why it leads no more.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub(crate) enum Loss {
    #[error("it could not be renewed in time")]
    Late,
    #[error("somebody else wrote it")]
    Taken,
    #[error("it is gone, or to go")]
    Gone,
}

/// What is to be done with the Lease. Each but the first ends what was under way; what came of that is then never told.
#[derive(Debug, PartialEq)]
pub(crate) enum Action {
    /// Wait for what is under way, until [`Election::due`](super::Election::due).
    AwaitResponse,
    /// Nothing, until then.
    Sleep,
    /// Read it.
    Read,
    /// Make it.
    Create(Lease),
    /// Write it, if it is still this UID and at this version, which it says itself.
    Update(Lease),
    /// It is over.
    Stop,
}

/// Why an election does not come on.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub(crate) enum ElectionProblem {
    #[error("the Lease cannot be read: {0}")]
    Read(ListError),
    #[error("the Lease cannot be written: {0}")]
    Write(WriteError),
    #[error("the Lease has no version or no UID, so nothing can be written on condition of it")]
    Nameless,
    #[error("spec.leaseTransitions cannot be counted on from what it is: delete the Lease")]
    Uncountable,
    #[error("the server did not store what was written, but something else")]
    Altered,
}
