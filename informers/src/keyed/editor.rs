//! The state machine of an interest stream: its opening, its edits, and its breaks.
//!
//! A request has a maximum size, so a stream is opened with as many keys as fit and `edits` add the
//! others. A key is *known* once all of its objects were received: after a break, the stream
//! resumes with the known keys at the last received version. All other keys are added again, and
//! their cached objects stay until the partial relist of the key is complete.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Display;
use std::time::Instant;

use machinery_objects::{EditNumber, ResourceVersion, SourceError, WatchError, WatchEvent};

use super::edits::Edit;
use super::interest_counts::Tenure;
use super::progress::ShownVersion;
use super::refused_keys::RefusedKeys;
use super::request_budget::RequestBudget;
use crate::reflect::{Backoff, Effect, ReflectorError, ReflectorLimits, SourceObject};

/// An input of the state machine.
pub(crate) enum StreamInput<T> {
    /// [`Editor::due`] has passed, or the desired keys changed.
    Time,
    Opened,
    /// The stream could not be opened, or ended with an error.
    Failed(WatchError),
    Ended,
    Event(WatchEvent<SourceObject<T>>),
    Edited(EditNumber),
    NotEdited(WatchError),
    /// The cache is full: this change and the rest of the batch were dropped.
    Full,
}

/// A request to the source.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum StreamCommand<F> {
    /// Opens a stream in place of the current one.
    Open {
        keys: BTreeMap<F, Tenure>,
        after: Option<ResourceVersion>,
    },
    Edit {
        remove: BTreeSet<F>,
        add: BTreeMap<F, Tenure>,
    },
    /// Closes the stream, until [`Editor::due`].
    Wait,
}

/// The state machine of an interest stream, for keys of type `F`.
pub(crate) struct Editor<F> {
    pub(super) limits: ReflectorLimits,
    pub(super) phase: StreamPhase,
    pub(super) due: Instant,
    pub(super) backoff: Backoff,
    /// The keys with an interest.
    pub(super) desired: BTreeMap<F, Tenure>,
    /// The keys requested from the source, all known if `all_known`, but for those of the
    /// edit in flight.
    pub(super) requested: BTreeMap<F, Tenure>,
    pub(super) edit: Option<Edit<F>>,
    /// The earliest time of the next edit.
    pub(super) not_before: Option<Instant>,
    /// The back-off of rejected edits.
    pub(super) edit_backoff: Backoff,
    /// The number of keys that the source accepts in a request, as far as is known; and whether to
    /// try more.
    pub(super) batch: usize,
    pub(super) batch_grows: bool,
    /// Keys that the source rejects, each even alone.
    pub(super) refused: RefusedKeys<F>,
    /// The version up to which all events of the known keys were received.
    pub(super) resume_version: Option<ResourceVersion>,
    /// Whether versions are ordered: a version that is not greater is not later.
    pub(super) ordered: bool,
    pub(super) all_known: bool,
    /// Keys that differ between `desired` and `requested`.
    pub(super) dirty: BTreeSet<F>,
    /// Dirty keys that were known, with outdated cached objects.
    pub(super) stale: BTreeSet<F>,
    /// The objects of the stale keys predate a restore of the source.
    pub(super) pre_restore: bool,
    /// Keys that became outdated by a restore since the last call of `take_outdated`.
    pub(super) outdated: Vec<(F, Tenure)>,
    /// The source was behind an earlier version, and has not caught up since.
    pub(super) is_doubtful: bool,
    /// The completion that the source has to confirm.
    pub(super) awaited: Option<AwaitedCompletion>,
    /// Since when every answer of the source has been behind.
    pub(super) behind_since: Option<Instant>,
    /// When the stream was opened, and how many events beyond its initial state it has sent.
    pub(super) began: Instant,
    pub(super) progress_events: u64,
}

/// A completion that the source has to confirm: of an edit, or of the keys of the opening. Other
/// events do not extend its deadline for ever.
#[derive(Clone, Copy)]
pub(super) struct AwaitedCompletion {
    pub(super) began: Instant,
    /// When the last object was received.
    pub(super) last_object: Instant,
    pub(super) objects: usize,
}

#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum StreamPhase {
    /// There are no keys, and no stream.
    Idle,
    Waiting,
    Opening {
        relists: bool,
    },
    /// The stream is open, and its first keys are not complete.
    Beginning {
        relists: bool,
    },
    Going,
}

impl<F: Ord + Clone + Display> Editor<F> {
    pub(crate) fn new(limits: ReflectorLimits, ordered: bool, seed: u64, now: Instant) -> Self {
        Self {
            limits: limits.bounded(),
            phase: StreamPhase::Idle,
            due: now,
            backoff: Backoff::new(seed),
            desired: BTreeMap::new(),
            requested: BTreeMap::new(),
            edit: None,
            not_before: None,
            // A seed of its own, or the delays would have the same jitter.
            edit_backoff: Backoff::new(!seed),
            // The limit of the source is unknown until it refuses a request.
            batch: usize::MAX,
            batch_grows: true,
            refused: RefusedKeys::new(seed.rotate_left(32)),
            resume_version: None,
            ordered,
            all_known: false,
            dirty: BTreeSet::new(),
            stale: BTreeSet::new(),
            pre_restore: false,
            outdated: Vec::new(),
            is_doubtful: false,
            awaited: None,
            behind_since: None,
            began: now,
            progress_events: 0,
        }
    }

    /// When [`StreamInput::Time`] is due, if there is no other input before; `None` for never.
    pub(crate) fn due(&self) -> Option<Instant> {
        let edit = self.not_before.or_else(|| self.refused.due());
        let edit = edit.filter(|_| self.phase == StreamPhase::Going && self.edit.is_none());
        let due = [edit, self.overdue()].into_iter().flatten().fold(self.due, Instant::min);
        (self.phase != StreamPhase::Idle).then_some(due)
    }

    /// The version up to which all keys that were ever complete are shown; none while some are
    /// stale.
    pub(crate) fn shown(&self) -> ShownVersion<'_> {
        match &self.resume_version {
            _ if self.is_doubtful || (self.pre_restore && !self.stale.is_empty()) => ShownVersion::Doubtful,
            Some(version) if self.all_known && self.stale.is_empty() => ShownVersion::UpTo(version),
            _ => ShownVersion::AsBefore,
        }
    }

    /// Takes the keys with objects that turned out to predate a restore.
    pub(crate) fn take_outdated(&mut self) -> Vec<(F, Tenure)> {
        std::mem::take(&mut self.outdated)
    }

    /// Returns whether the source rejects any key, even alone.
    pub(crate) fn has_refused(&self) -> bool {
        !self.refused.is_empty()
    }

    /// Returns the tenures of the keys that the source rejects.
    pub(crate) fn refused_tenures(&self) -> impl Iterator<Item = Tenure> {
        self.desired.iter().filter(|(key, _)| self.refused.has(key)).map(|(_, tenure)| *tenure)
    }

    /// Changes the desired keys; [`StreamInput::Time`] has to follow.
    pub(crate) fn set_desired(&mut self, changed: impl IntoIterator<Item = (F, Option<Tenure>)>) {
        for (key, tenure) in changed {
            self.stale.remove(&key);
            self.refused.forget(&key);
            if let Some(tenure) = tenure {
                self.dirty.insert(key.clone());
                self.desired.insert(key, tenure);
                continue;
            }
            self.desired.remove(&key);
            // A key that was never requested need not be removed.
            if self.requested.contains_key(&key) {
                self.dirty.insert(key);
            } else {
                self.dirty.remove(&key);
            }
        }
        self.pre_restore &= !self.stale.is_empty();
    }

    /// Processes an input. Without a command the stream continues.
    pub(crate) fn step<T>(
        &mut self,
        now: Instant,
        input: StreamInput<T>,
        effects: &mut Vec<Effect<T>>,
        complete: &mut Vec<(F, Tenure)>,
    ) -> Option<StreamCommand<F>> {
        match input {
            StreamInput::Time => self.time(now, effects),
            StreamInput::Opened => {
                if let StreamPhase::Opening { relists } = self.phase {
                    self.phase = StreamPhase::Beginning { relists };
                    self.due = now + self.limits.silence;
                    self.awaited = Some(AwaitedCompletion { began: now, last_object: now, objects: 0 });
                    (self.began, self.progress_events) = (now, 0);
                }
                None
            }
            StreamInput::Failed(error) => Some(self.failed(now, error, effects)),
            StreamInput::Ended => Some(self.ended(now, effects)),
            StreamInput::Event(event) => self.event(now, event, effects, complete),
            StreamInput::Edited(number) => {
                // The echo on the stream may have overtaken this response.
                let edit = self.edit.as_mut()?;
                edit.number = Some(number);
                self.echo(now, None, effects, complete)
            }
            StreamInput::NotEdited(error) => self.not_edited(now, error, effects),
            StreamInput::Full => Some(self.full(now, effects)),
        }
    }

    fn time<T>(&mut self, now: Instant, effects: &mut Vec<Effect<T>>) -> Option<StreamCommand<F>> {
        match self.phase {
            StreamPhase::Idle if self.desired.is_empty() => None,
            StreamPhase::Idle => Some(self.open(now, effects)),
            StreamPhase::Waiting if now >= self.due => Some(self.open(now, effects)),
            StreamPhase::Waiting => None,
            StreamPhase::Opening { .. } if now >= self.due => {
                Some(self.failed(now, SourceError::TimedOut.into(), effects))
            }
            StreamPhase::Beginning { .. } | StreamPhase::Going if now >= self.due => {
                // Opened without a back-off: the silence was the delay.
                effects.push(Effect::Failed(ReflectorError::Silent(self.limits.silence)));
                self.behind_since = None;
                self.abandon(now, effects);
                Some(self.open(now, effects))
            }
            StreamPhase::Beginning { .. } | StreamPhase::Going
                if self.overdue().is_some_and(|due| now >= due) =>
            {
                Some(self.give_up(now, ReflectorError::NoEnd, effects))
            }
            StreamPhase::Going => self.edit(now, effects),
            StreamPhase::Opening { .. } | StreamPhase::Beginning { .. } => None,
        }
    }

    /// Resumes with the known keys after the last version; without known keys, opens a stream with
    /// the state of the desired ones. Keys that do not fit are added by edits, and so are rejected
    /// ones unless there are no others.
    pub(super) fn open<T>(&mut self, now: Instant, effects: &mut Vec<Effect<T>>) -> StreamCommand<F> {
        self.requested.retain(|key, tenure| self.desired.get(key) == Some(tenure));
        let resumes = self.all_known && self.requested.keys().any(|key| !self.refused.has(key));
        let keys = if resumes {
            std::mem::take(&mut self.requested)
        } else {
            self.forget_known();
            self.requested.clear();
            self.dirty.clear();
            self.desired.clone()
        };
        let are_refused = keys.keys().all(|key| self.refused.has(key));
        let alone = are_refused.then(|| self.refused.next()).flatten();
        let mut budget = RequestBudget::new(&self.limits, self.batch);
        for (key, tenure) in keys {
            let is_left_out = self.refused.has(&key) && alone.as_ref() != Some(&key);
            if !is_left_out && budget.take(&key) {
                self.requested.insert(key, tenure);
                continue;
            }
            // No source adds a key from a version on: until an edit lists it, it is outdated.
            if resumes {
                self.stale.insert(key.clone());
            }
            self.dirty.insert(key);
        }
        if self.requested.is_empty() {
            // Without keys there is nothing to fail.
            effects.push(Effect::Recovered);
            self.phase = StreamPhase::Idle;
            return StreamCommand::Wait;
        }
        self.phase = StreamPhase::Opening { relists: !resumes };
        self.due = now + self.limits.answer_time;
        if !resumes {
            effects.push(Effect::BeginRelist);
        }
        let after = self.resume_version.clone().filter(|_| resumes);
        StreamCommand::Open { keys: self.requested.clone(), after }
    }

    /// The deadline of the awaited completion.
    fn overdue(&self) -> Option<Instant> {
        let AwaitedCompletion { began, last_object, .. } = self.awaited?;
        Some((last_object + self.limits.answer_time).min(began + self.limits.list_time))
    }
}

#[cfg(test)]
#[path = "editor_tests/mod.rs"]
mod tests;
