//! Inputs and outputs of the election state machine.

use std::sync::Arc;
use std::time::Instant;

use jiff::Timestamp;
use machinery_objects::{ListError, Uid, WriteError};

use crate::lease::Lease;

/// Monotonic and wall-clock time of a step.
#[derive(Clone, Copy, Debug)]
pub(crate) struct ElectionTime {
    /// Monotonic time: the only basis of decisions.
    pub(crate) at: Instant,
    /// Wall-clock time, written into the Lease for information.
    pub(crate) wall: Timestamp,
}

/// Input of a step.
#[derive(Debug)]
pub(crate) enum Input {
    /// Time has passed.
    Tick,
    /// Result of a read.
    Read(Result<Option<Arc<Lease>>, ListError>),
    /// Result of a write.
    Wrote(Result<Lease, WriteError>),
    /// The work of the lost term has ended: the candidate may lead again.
    Rejoin,
    /// Release the Lease; the work of the term has ended.
    Resign,
}

/// Output of a step.
#[derive(Debug, PartialEq)]
pub(crate) struct Output {
    /// Start or loss of a term.
    pub(crate) change: Option<LeadershipChange>,
    /// Next action.
    pub(crate) action: Action,
}

/// Start or end of a term.
#[derive(Clone, Debug, PartialEq)]
pub(crate) enum LeadershipChange {
    /// A term starts.
    Acquired {
        /// UID of the Lease.
        uid: Uid,
        /// Epoch of the Lease.
        epoch: u64,
    },
    /// The term is lost.
    Lost(Loss),
}

/// Reason of a lost term.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub(crate) enum Loss {
    #[error("it could not be renewed in time")]
    Late,
    #[error("another client wrote it")]
    Taken,
    #[error("it was deleted, or is being deleted")]
    Gone,
}

/// Action for the shell. Each but the first cancels the pending request; its result is ignored.
#[derive(Debug, PartialEq)]
pub(crate) enum Action {
    /// Wait for the pending request, until [`Election::due`](super::Election::due).
    AwaitResponse,
    /// Wait until then without a request.
    Sleep,
    /// Read the Lease.
    Read,
    /// Create the Lease.
    Create(Lease),
    /// Update the Lease, on condition of the UID and version that it carries.
    Update(Lease),
    /// The election has ended.
    Stop,
}

/// Condition that keeps a candidate from acquiring or renewing.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub(crate) enum ElectionProblem {
    #[error("the Lease cannot be read: {0}")]
    Read(ListError),
    #[error("the Lease cannot be written: {0}")]
    Write(WriteError),
    #[error("the Lease has no resourceVersion or UID to condition a write on")]
    Nameless,
    #[error("spec.leaseTransitions is invalid or at its maximum: delete the Lease")]
    Uncountable,
    #[error("the server stored another record than was written")]
    Altered,
}
