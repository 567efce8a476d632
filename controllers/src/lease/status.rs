//! Status of an election, published after each step.

use std::time::Instant;

use super::election::{Election, ElectionProblem, Role};
use super::{ElectionCounts, ElectionPhase, ElectionState};

/// Status of an election, published after each step.
#[derive(Default)]
pub(super) struct StatusCell {
    phase: ElectionPhase,
    holder: Option<String>,
    acquired: Option<String>,
    epoch: Option<u64>,
    since: Option<Instant>,
    renewed: Option<Instant>,
    problem: Option<ElectionProblem>,
    pub(super) counts: ElectionCounts,
}

impl StatusCell {
    /// Updates the status after a step. `is_ending`: the work of a term is running, and whether its
    /// token is cancelled.
    pub(super) fn update(&mut self, election: &Election, is_ending: Option<bool>) {
        self.phase = match is_ending {
            None => ElectionPhase::Candidate,
            Some(false) => ElectionPhase::Leading,
            Some(true) => ElectionPhase::Stopping,
        };
        let observed = election.observed();
        self.holder = observed.and_then(|observed| observed.record.holder()).map(Into::into);
        self.acquired = observed.and_then(|observed| observed.record.acquired()).map(Into::into);
        self.epoch = observed.and_then(|observed| observed.record.epoch());
        self.since = observed.map(|observed| observed.since);
        self.renewed = match election.role() {
            Role::Leading { renewed, .. } => Some(*renewed),
            _ => None,
        };
        self.problem = election.problem().cloned();
        self.counts = election.counts();
    }

    pub(super) fn idle(&mut self) {
        *self = Self { counts: self.counts, ..Self::default() };
    }

    pub(super) fn state(&self, now: Instant) -> ElectionState {
        ElectionState {
            phase: self.phase,
            holder: self.holder.clone(),
            acquired: self.acquired.clone(),
            epoch: self.epoch,
            unchanged: self.since.map(|since| now.saturating_duration_since(since)),
            renewed: self.renewed.map(|renewed| now.saturating_duration_since(renewed)),
            problem: self.problem.as_ref().map(ToString::to_string),
            counts: self.counts,
        }
    }
}
