//! How an election goes.

use std::time::Duration;

/// How an election goes, as of a moment.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct ElectionState {
    /// How far it is.
    pub phase: ElectionPhase,
    /// Who holds the Lease, as far as was seen; nobody if it is free.
    pub holder: Option<String>,
    /// Since when, by the clock of the holder.
    pub acquired: Option<String>,
    /// How often the Lease has changed hands, as far as was seen.
    pub epoch: Option<u64>,
    /// For how long the Lease has said the same. Others take it when that is as long as it says.
    pub unchanged: Option<Duration>,
    /// How long ago the last renewal was sent that was answered, while it leads.
    pub renewed: Option<Duration>,
    /// Why it does not come on, if it does not.
    pub problem: Option<String>,
    /// What it has done since it was made.
    pub counts: ElectionCounts,
}

/// How far an election is.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub enum ElectionPhase {
    /// It does not run.
    #[default]
    Idle,
    /// Somebody else leads, or nobody.
    Candidate,
    /// It leads.
    Leading,
    /// What was done while it led is to end, and has not.
    Stopping,
}

/// What an election has done.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct ElectionCounts {
    /// How often it began to lead.
    pub terms: u64,
    /// How often it stopped leading without being told to.
    pub lost: u64,
    /// Writes to the Lease that were answered well.
    pub written: u64,
    /// Requests that were not.
    pub failed: u64,
}
