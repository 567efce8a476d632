//! One step after another.

use std::sync::Arc;
use std::time::{Duration, Instant};

use jiff::Timestamp;
use machinery_objects::{ListError, ResourceVersion, SourceError, Uid, WriteError};

use super::jitter::Jitter;
use super::messages::{ElectionProblem, ElectionTime, Input, LeadershipChange, Loss, Output};
use crate::lease::record::LeaseRecord;
use crate::lease::{ElectionConfig, ElectionCounts, Lease};

/// One candidate: what it knows of the Lease, and what it is.
///
/// It leads only by a write of its own that was answered, and until [`ElectionConfig::renew_deadline`] after that was *sent*: others saw
/// it later than that, and wait for longer.
pub(crate) struct Election {
    pub(super) config: ElectionConfig,
    pub(super) role: Role,
    pub(super) observed: Option<ObservedLease>,
    pub(super) known: LeaseKnowledge,
    pub(super) tried: Option<AttemptedWrite>,
    /// The time that was written last in this term, and when.
    pub(super) last_stamp: Option<(Instant, Timestamp)>,
    pub(super) pending: Option<PendingRequest>,
    /// When something is to be asked again.
    pub(super) next: Instant,
    /// A write that failed, and was followed by a read at once.
    pub(super) reread_at_once: bool,
    pub(super) change: Option<LeadershipChange>,
    pub(super) problem: Option<ElectionProblem>,
    pub(super) counts: ElectionCounts,
    /// It is to end, by then at the latest.
    pub(super) leaving: Option<Instant>,
    /// Until when nobody else leads, after a term that was lost. `None` is that somebody may already.
    reserved: Option<Instant>,
    jitter: Jitter,
}

#[derive(Clone, Debug, PartialEq)]
pub(crate) enum Role {
    /// It would lead.
    Candidate,
    Leading {
        uid: Uid,
        epoch: u64,
        /// When the last renewal was sent that was answered.
        renewed: Instant,
    },
    /// It led, and what was done then has not ended.
    Lost,
}

/// What was seen last.
pub(crate) struct ObservedLease {
    pub(crate) lease: Arc<Lease>,
    pub(crate) record: LeaseRecord,
    /// Since when, by the own clock.
    pub(crate) since: Instant,
}

/// Whether what was seen is what there is.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum LeaseKnowledge {
    /// It has to be read.
    Unread,
    Present,
    Absent,
}

/// What was written last, and perhaps not stored.
pub(super) struct AttemptedWrite {
    /// Over which version.
    pub(super) over: Option<ResourceVersion>,
    pub(super) record: LeaseRecord,
}

/// A request under way.
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
    /// With what was counted before.
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

    /// Takes in what it is told, and says what to do. It is to be told the time when something is [due](Self::due), and as often as one
    /// likes.
    pub(crate) fn step(&mut self, now: ElectionTime, input: Input) -> Output {
        match input {
            Input::Tick => self.expire_request(now.at),
            Input::Read(read) => self.read(now.at, read),
            Input::Wrote(written) => self.wrote(now.at, written),
            Input::Rejoin if self.role == Role::Lost => (self.role, self.next) = (Role::Candidate, now.at),
            Input::Rejoin => {}
            Input::Resign => self.leaving = self.leaving.or(Some(now.at + self.config.renew_deadline)),
        }
        if self.deadline().is_some_and(|deadline| deadline <= now.at) {
            self.lose(Loss::Late);
        }
        let action = self.next_action(now);
        Output { change: self.change.take(), action }
    }

    /// When it is to be told the time, if nothing else comes before. Never, where it waits until something has ended.
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

    /// Until when nobody else leads, after a term that was lost: others wait so long since they saw its last renewal.
    pub(crate) const fn reserved(&self) -> Option<Instant> {
        self.reserved
    }

    /// How long an answer is waited for: so that there is time for another try.
    fn response_timeout(&self) -> Duration {
        self.config.renew_deadline / 2
    }

    /// Until when it leads, if nothing comes.
    fn deadline(&self) -> Option<Instant> {
        match self.role {
            Role::Leading { renewed, .. } => Some(renewed + self.config.renew_deadline),
            _ => None,
        }
    }

    /// What is not answered in time has failed.
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

    /// What was tried for a term that is over is nobody's: if it is stored yet, that is as if a stranger had done it.
    pub(super) fn lose(&mut self, why: Loss) {
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

    /// It looks again when others do not.
    pub(super) fn retry_later(&mut self, now: Instant) {
        (self.known, self.next) = (LeaseKnowledge::Unread, now + self.jitter.of(self.config.retry_period));
    }
}
