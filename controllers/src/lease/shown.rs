//! What is known of an election between two of its steps.

use std::time::Instant;

use super::election::{Election, Role, Trouble};
use super::{ElectionCounts, ElectionPhase, ElectionState};

/// What is known of an election between two of its steps.
#[derive(Default)]
pub(super) struct Shown {
    phase: ElectionPhase,
    holder: Option<String>,
    acquired: Option<String>,
    epoch: Option<u64>,
    since: Option<Instant>,
    renewed: Option<Instant>,
    trouble: Option<Trouble>,
    pub(super) counts: ElectionCounts,
}

impl Shown {
    /// After a step; and whether what is done while it leads is to end, if something is.
    pub(super) fn see(&mut self, election: &Election, is_ending: Option<bool>) {
        self.phase = match is_ending {
            None => ElectionPhase::Standing,
            Some(false) => ElectionPhase::Leading,
            Some(true) => ElectionPhase::Ending,
        };
        let sight = election.sight();
        self.holder = sight.and_then(|sight| sight.record.holder()).map(Into::into);
        self.acquired = sight.and_then(|sight| sight.record.acquired()).map(Into::into);
        self.epoch = sight.and_then(|sight| sight.record.epoch());
        self.since = sight.map(|sight| sight.since);
        self.renewed = match election.role() {
            Role::Leading { renewed, .. } => Some(*renewed),
            _ => None,
        };
        self.trouble = election.trouble().cloned();
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
            trouble: self.trouble.as_ref().map(ToString::to_string),
            counts: self.counts,
        }
    }
}
