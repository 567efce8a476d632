//! The state machine and its step function.

use std::sync::Arc;
use std::time::{Duration, Instant};

use jiff::Timestamp;
use machinery_objects::{ListError, ResourceVersion, SourceError, Uid, WriteError};

use super::jitter::Jitter;
use super::messages::{ElectionProblem, ElectionTime, Input, LeadershipChange, Loss, Output};
use crate::lease::record::LeaseRecord;
use crate::lease::{ElectionConfig, ElectionCounts, Lease};

/// State machine of one candidate.
///
/// A term starts with an acknowledged write of its own, and lasts until
/// [`ElectionConfig::renew_deadline`] after that write was *sent*: observers saw it later and wait
/// longer.
pub(crate) struct Election {
    pub(super) config: ElectionConfig,
    pub(super) role: Role,
    pub(super) observed: Option<ObservedLease>,
    pub(super) known: LeaseKnowledge,
    pub(super) tried: Option<AttemptedWrite>,
    /// Renew time written last in this term, and when.
    pub(super) last_stamp: Option<(Instant, Timestamp)>,
    pub(super) pending: Option<PendingRequest>,
    /// Time of the next request.
    pub(super) next: Instant,
    /// A failed write was followed by an immediate read.
    pub(super) reread_at_once: bool,
    pub(super) change: Option<LeadershipChange>,
    pub(super) problem: Option<ElectionProblem>,
    pub(super) counts: ElectionCounts,
    /// Deadline of a resignation in progress.
    pub(super) leaving: Option<Instant>,
    /// Time until which no other candidate leads after an expired term. `None` if one may lead
    /// already.
    reserved: Option<Instant>,
    jitter: Jitter,
}

#[derive(Clone, Debug, PartialEq)]
pub(crate) enum Role {
    /// Not leading.
    Candidate,
    Leading {
        uid: Uid,
        epoch: u64,
        /// Time at which the last acknowledged renewal was sent.
        renewed: Instant,
    },
    /// The term is lost, and its work has not ended.
    Lost,
}

/// The Lease as last observed.
pub(crate) struct ObservedLease {
    pub(crate) lease: Arc<Lease>,
    pub(crate) record: LeaseRecord,
    /// First observation of this record, on the local clock.
    pub(crate) since: Instant,
}

/// Whether the observed Lease is up to date.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum LeaseKnowledge {
    /// A read is required.
    Unread,
    Present,
    Absent,
}

/// The last attempted write, possibly not stored.
pub(super) struct AttemptedWrite {
    /// Version that it replaces.
    pub(super) over: Option<ResourceVersion>,
    pub(super) record: LeaseRecord,
}

/// A request in flight.
#[derive(Clone, Copy)]
pub(super) struct PendingRequest {
    pub(super) kind: RequestKind,
    pub(super) at: Instant,
}

#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum RequestKind {
    Read,
    Take,
    Renew,
    Release,
}

impl Election {
    /// Creates a candidate, continuing earlier counts.
    pub(crate) fn new(config: ElectionConfig, counts: ElectionCounts, now: Instant) -> Self {
        let jitter = Jitter::new(config.seed);
        Self {
            config,
            role: Role::Candidate,
            observed: None,
            known: LeaseKnowledge::Unread,
            tried: None,
            last_stamp: None,
            pending: None,
            next: now,
            reread_at_once: false,
            change: None,
            problem: None,
            counts,
            leaving: None,
            reserved: None,
            jitter,
        }
    }

    /// Processes an input and returns the next action. Requires a tick when something is
    /// [due](Self::due); additional ticks are harmless.
    pub(crate) fn step(&mut self, now: ElectionTime, input: Input) -> Output {
        match input {
            Input::Tick => self.expire_request(now.at),
            Input::Read(read) => self.read(now.at, read),
            Input::Wrote(written) => self.wrote(now.at, written),
            Input::Rejoin if self.role == Role::Lost => (self.role, self.next) = (Role::Candidate, now.at),
            Input::Rejoin => {}
            // Bounded: a Lease that cannot be released expires by itself.
            Input::Resign => self.leaving = self.leaving.or(Some(now.at + self.config.renew_deadline)),
        }
        if self.deadline().is_some_and(|deadline| deadline <= now.at) {
            self.lose(Loss::Late);
        }
        let action = self.next_action(now);
        Output { change: self.change.take(), action }
    }

    /// Returns the time of the next required tick; `None` while the work of a lost term is awaited.
    pub(crate) fn due(&self) -> Option<Instant> {
        let answer = self.pending.map(|pending| pending.at + self.response_timeout());
        let next = answer.or((self.role != Role::Lost).then_some(self.next));
        [next, self.deadline(), self.leaving].into_iter().flatten().min()
    }

    pub(crate) const fn role(&self) -> &Role {
        &self.role
    }

    pub(crate) const fn observed(&self) -> Option<&ObservedLease> {
        self.observed.as_ref()
    }

    pub(crate) const fn problem(&self) -> Option<&ElectionProblem> {
        self.problem.as_ref()
    }

    pub(crate) const fn counts(&self) -> ElectionCounts {
        self.counts
    }

    /// Returns the time until which no other candidate leads after an expired term: observers wait
    /// that long from its last renewal.
    pub(crate) const fn reserved(&self) -> Option<Instant> {
        self.reserved
    }

    /// Returns the timeout of a request, which leaves time for a retry.
    fn response_timeout(&self) -> Duration {
        self.config.renew_deadline / 2
    }

    /// Returns the end of the term without another renewal.
    fn deadline(&self) -> Option<Instant> {
        match self.role {
            Role::Leading { renewed, .. } => Some(renewed + self.config.renew_deadline),
            _ => None,
        }
    }

    /// Fails the pending request at its timeout.
    fn expire_request(&mut self, now: Instant) {
        match self.pending {
            Some(PendingRequest { at, .. }) if now < at + self.response_timeout() => {}
            Some(PendingRequest { kind: RequestKind::Read, .. }) => {
                self.read(now, Err(ListError::Source(SourceError::TimedOut)))
            }
            Some(_) => self.wrote(now, Err(WriteError::Source(SourceError::TimedOut))),
            None => {}
        }
    }

    /// Ends the term and forgets attempted writes: one that is stored later counts as foreign.
    pub(super) fn lose(&mut self, why: Loss) {
        // After a late renewal the Lease still names this candidate; else another may lead now.
        self.reserved = match (why, &self.role) {
            (Loss::Late, Role::Leading { renewed, .. }) => Some(*renewed + self.config.lease_duration),
            _ => None,
        };
        (self.role, self.known) = (Role::Lost, LeaseKnowledge::Unread);
        (self.pending, self.tried) = (None, None);
        self.counts.lost += 1;
        self.change = Some(LeadershipChange::Lost(why));
    }

    pub(super) fn is_leaving(&self) -> bool {
        self.leaving.is_some()
    }

    /// Schedules the next read with jitter.
    pub(super) fn retry_later(&mut self, now: Instant) {
        (self.known, self.next) = (LeaseKnowledge::Unread, now + self.jitter.of(self.config.retry_period));
    }
}
