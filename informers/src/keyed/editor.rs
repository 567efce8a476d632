//! A stream of interest as a machine: which keys it is opened with, which edit comes next, and what becomes of what is held.
//!
//! A request is bounded, and so a stream is opened with as many keys as go into one; `edits` brings the rest. Keys are *known*
//! when all of them has come: with those a stream that breaks is opened again after what it told last. All others are added
//! anew, and what is held under them stays until it has been seen what is there.

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

/// What happened.
pub(crate) enum StreamInput<T> {
    /// What [`Editor::due`] said is past; or other keys are wanted.
    Time,
    Opened,
    /// It did not open, or ended so.
    Failed(WatchError),
    Ended,
    Event(WatchEvent<SourceObject<T>>),
    Edited(EditNumber),
    NotEdited(WatchError),
    /// There is no room for what came, and it was left out with all after it.
    Full,
}

/// What to ask the source for.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum StreamCommand<F> {
    /// In place of whatever was under way.
    Open {
        keys: BTreeMap<F, Tenure>,
        after: Option<ResourceVersion>,
    },
    Edit {
        remove: BTreeSet<F>,
        add: BTreeMap<F, Tenure>,
    },
    /// Nothing, and drop what is under way, until [`Editor::due`].
    Wait,
}

/// The machine. `F` is what keys are.
pub(crate) struct Editor<F> {
    pub(super) limits: ReflectorLimits,
    pub(super) phase: StreamPhase,
    pub(super) due: Instant,
    pub(super) backoff: Backoff,
    /// The keys that are wanted.
    pub(super) desired: BTreeMap<F, Tenure>,
    /// Those that the source was asked for. They are known, but for what an edit adds, if all is `all_known`.
    pub(super) requested: BTreeMap<F, Tenure>,
    pub(super) edit: Option<Edit<F>>,
    /// No edit is made before.
    pub(super) not_before: Option<Instant>,
    /// Of edits that the source did not make.
    pub(super) edit_backoff: Backoff,
    /// So many keys go into a request, as far as is known of what the source takes; and whether more may.
    pub(super) batch: usize,
    pub(super) batch_grows: bool,
    /// Keys that the source refused, each alone.
    pub(super) refused: RefusedKeys<F>,
    /// Of keys that are known all has been told up to here.
    pub(super) resume_version: Option<ResourceVersion>,
    /// Whether a version that is not greater is not later.
    pub(super) ordered: bool,
    pub(super) all_known: bool,
    /// Keys that are not asked for as they are wanted.
    pub(super) dirty: BTreeSet<F>,
    /// Those of them that were known, and of which what is held is old.
    pub(super) stale: BTreeSet<F>,
    /// What is held under those that are stale is of a time that never was: the source was restored.
    pub(super) pre_restore: bool,
    /// Those that are so since somebody looked.
    pub(super) outdated: Vec<(F, Tenure)>,
    /// The source showed less than it once did, and has not shown since that it has it all.
    pub(super) is_doubtful: bool,
    /// What the source is to say is complete.
    pub(super) awaited: Option<AwaitedCompletion>,
    /// Since when the source shows less than it did, each time that it was asked.
    pub(super) behind_since: Option<Instant>,
    /// When the stream began, and how often it has told since what was not known.
    pub(super) began: Instant,
    pub(super) progress_events: u64,
}

/// The source is to say that something is complete: an edit, or the keys that it was opened with. That it says other things
/// does not put this off for ever.
#[derive(Clone, Copy)]
pub(super) struct AwaitedCompletion {
    pub(super) began: Instant,
    /// When the last object came.
    pub(super) last_object: Instant,
    pub(super) objects: usize,
}

#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum StreamPhase {
    /// With no key wanted there is nothing to ask for.
    Idle,
    Waiting,
    Opening {
        relists: bool,
    },
    /// It was opened, and its first keys are not complete.
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
            edit_backoff: Backoff::new(!seed),
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

    /// When [`StreamInput::Time`] is to come, unless something else does. `None`: never.
    pub(crate) fn due(&self) -> Option<Instant> {
        let edit = self.not_before.or_else(|| self.refused.due());
        let edit = edit.filter(|_| self.phase == StreamPhase::Going && self.edit.is_none());
        let due = [edit, self.overdue()].into_iter().flatten().fold(self.due, Instant::min);
        (self.phase != StreamPhase::Idle).then_some(due)
    }

    /// The version up to which all is shown that was ever known of keys that are wanted; while some of that is old, none.
    pub(crate) fn shown(&self) -> ShownVersion<'_> {
        match &self.resume_version {
            _ if self.is_doubtful || (self.pre_restore && !self.stale.is_empty()) => ShownVersion::Doubtful,
            Some(version) if self.all_known && self.stale.is_empty() => ShownVersion::UpTo(version),
            _ => ShownVersion::AsBefore,
        }
    }

    /// The keys of which it has become known that what is held under them is of a time that never was.
    pub(crate) fn take_outdated(&mut self) -> Vec<(F, Tenure)> {
        std::mem::take(&mut self.outdated)
    }

    /// Other keys are wanted, or others want them. [`StreamInput::Time`] is to follow.
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
            // Of one that the source was never asked for nothing is to be taken back.
            if self.requested.contains_key(&key) {
                self.dirty.insert(key);
            } else {
                self.dirty.remove(&key);
            }
        }
        self.pre_restore &= !self.stale.is_empty();
    }

    /// Goes on. No order: what is under way goes on too.
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

    /// Goes on where it was with the keys that are known; if there are none, with the state of those that are wanted. Others
    /// than go into the request are added by edits; so are those that were refused, unless there are no others.
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
            if resumes {
                self.stale.insert(key.clone());
            }
            self.dirty.insert(key);
        }
        if self.requested.is_empty() {
            // There is nothing to worry about.
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

    /// When what is awaited has not come in time.
    fn overdue(&self) -> Option<Instant> {
        let AwaitedCompletion { began, last_object, .. } = self.awaited?;
        Some((last_object + self.limits.answer_time).min(began + self.limits.list_time))
    }
}

#[cfg(test)]
#[path = "editor_tests/mod.rs"]
mod tests;
