//! State and counts of an election.

use std::time::Duration;

/// Snapshot of the state of an election.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct ElectionState {
    /// Phase of the candidate.
    pub phase: ElectionPhase,
    /// Observed holder of the Lease; `None` if it is free.
    pub holder: Option<String>,
    /// Acquire time, by the clock of the holder.
    pub acquired: Option<String>,
    /// Observed number of transitions.
    pub epoch: Option<u64>,
    /// Time since the observed Lease last changed; a candidate may take it after
    /// `leaseDurationSeconds`.
    pub unchanged: Option<Duration>,
    /// Time since the last acknowledged renewal was sent, while leading.
    pub renewed: Option<Duration>,
    /// Condition that keeps the candidate from acquiring or renewing.
    pub problem: Option<String>,
    /// Counts since the elector was created.
    pub counts: ElectionCounts,
}

/// Phase of a candidate.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub enum ElectionPhase {
    /// Not running.
    #[default]
    Idle,
    /// Not leading, taking part in the election.
    Candidate,
    /// Leading.
    Leading,
    /// The term has ended or is to end, and its work is still running.
    Stopping,
}

/// Counts of an election.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct ElectionCounts {
    /// Terms started.
    pub terms: u64,
    /// Terms lost involuntarily.
    pub lost: u64,
    /// Acknowledged writes of the Lease.
    pub written: u64,
    /// Failed requests.
    pub failed: u64,
}
