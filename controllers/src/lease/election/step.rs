//! One step after another.

use std::sync::Arc;
use std::time::{Duration, Instant};

use jiff::Timestamp;
use machinery_objects::{ListError, ResourceVersion, SourceError, Uid, WriteError};

use super::jitter::Jitter;
use super::says::{Change, Input, Loss, Now, Output, Trouble};
use crate::lease::record::Record;
use crate::lease::{ElectionConfig, ElectionCounts, Lease};

/// One candidate: what it knows of the Lease, and what it is.
///
/// It leads only by a write of its own that was answered, and until [`ElectionConfig::renew_deadline`] after that was *sent*: others saw
/// it later than that, and wait for longer.
pub(crate) struct Election {
    pub(super) config: ElectionConfig,
    pub(super) role: Role,
    pub(super) sight: Option<Sight>,
    pub(super) known: Known,
    pub(super) tried: Option<Tried>,
    /// The time that was written last in this term, and when.
    pub(super) stamped: Option<(Instant, Timestamp)>,
    pub(super) asked: Option<Asked>,
    /// When something is to be asked again.
    pub(super) next: Instant,
    /// A write that failed, and was followed by a read at once.
    pub(super) hurried: bool,
    pub(super) change: Option<Change>,
    pub(super) trouble: Option<Trouble>,
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
    Standing,
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
pub(crate) struct Sight {
    pub(crate) lease: Arc<Lease>,
    pub(crate) record: Record,
    /// Since when, by the own clock.
    pub(crate) since: Instant,
}

/// Whether what was seen is what there is.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Known {
    /// It has to be read.
    No,
    There,
    NotThere,
}

/// What was written last, and perhaps not stored.
pub(super) struct Tried {
    /// Over which version.
    pub(super) over: Option<ResourceVersion>,
    pub(super) record: Record,
}

/// A request under way.
#[derive(Clone, Copy)]
pub(super) struct Asked {
    pub(super) what: What,
    pub(super) at: Instant,
}

#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum What {
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
            role: Role::Standing,
            sight: None,
            known: Known::No,
            tried: None,
            stamped: None,
            asked: None,
            next: now,
            hurried: false,
            change: None,
            trouble: None,
            counts,
            leaving: None,
            reserved: None,
            jitter,
        }
    }

    /// Takes in what it is told, and says what to do. It is to be told the time when something is [due](Self::due), and as often as one
    /// likes.
    pub(crate) fn step(&mut self, now: Now, input: Input) -> Output {
        match input {
            Input::Time => self.give_up(now.at),
            Input::Read(read) => self.read(now.at, read),
            Input::Wrote(written) => self.wrote(now.at, written),
            Input::Stand if self.role == Role::Lost => (self.role, self.next) = (Role::Standing, now.at),
            Input::Stand => {}
            Input::Leave => self.leaving = self.leaving.or(Some(now.at + self.config.renew_deadline)),
        }
        if self.deadline().is_some_and(|deadline| deadline <= now.at) {
            self.lose(Loss::Late);
        }
        let order = self.order(now);
        Output { change: self.change.take(), order }
    }

    /// When it is to be told the time, if nothing else comes before. Never, where it waits until something has ended.
    pub(crate) fn due(&self) -> Option<Instant> {
        let answer = self.asked.map(|asked| asked.at + self.patience());
        let next = answer.or((self.role != Role::Lost).then_some(self.next));
        [next, self.deadline(), self.leaving].into_iter().flatten().min()
    }

    pub(crate) const fn role(&self) -> &Role {
        &self.role
    }

    pub(crate) const fn sight(&self) -> Option<&Sight> {
        self.sight.as_ref()
    }

    pub(crate) const fn trouble(&self) -> Option<&Trouble> {
        self.trouble.as_ref()
    }

    pub(crate) const fn counts(&self) -> ElectionCounts {
        self.counts
    }

    /// Until when nobody else leads, after a term that was lost: others wait so long since they saw its last renewal.
    pub(crate) const fn reserved(&self) -> Option<Instant> {
        self.reserved
    }

    /// How long an answer is waited for: so that there is time for another try.
    fn patience(&self) -> Duration {
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
    fn give_up(&mut self, now: Instant) {
        match self.asked {
            Some(Asked { at, .. }) if now < at + self.patience() => {}
            Some(Asked { what: What::Read, .. }) => {
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
        (self.role, self.known) = (Role::Lost, Known::No);
        (self.asked, self.tried) = (None, None);
        self.counts.lost += 1;
        self.change = Some(Change::Lost(why));
    }

    pub(super) fn is_leaving(&self) -> bool {
        self.leaving.is_some()
    }

    /// It looks again when others do not.
    pub(super) fn later(&mut self, now: Instant) {
        (self.known, self.next) = (Known::No, now + self.jitter.of(self.config.retry_period));
    }
}
