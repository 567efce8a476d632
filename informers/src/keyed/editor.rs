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
use super::progress::Shown;
use super::refused::RefusedKeys;
use super::room::Room;
use super::wanted::Tenure;
use crate::reflect::{Backoff, Effect, Found, Limits, Trouble};

/// What happened.
pub(crate) enum Input<T> {
    /// What [`Editor::due`] said is past; or other keys are wanted.
    Time,
    Opened,
    /// It did not open, or ended so.
    Failed(WatchError),
    Ended,
    Event(WatchEvent<Found<T>>),
    Edited(EditNumber),
    NotEdited(WatchError),
    /// There is no room for what came, and it was left out with all after it.
    Full,
}

/// What to ask the source for.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Order<F> {
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
    pub(super) limits: Limits,
    pub(super) phase: Phase,
    pub(super) due: Instant,
    pub(super) backoff: Backoff,
    /// The keys that are wanted.
    pub(super) wanted: BTreeMap<F, Tenure>,
    /// Those that the source was asked for. They are known, but for what an edit adds, if all is `whole`.
    pub(super) asked: BTreeMap<F, Tenure>,
    pub(super) edit: Option<Edit<F>>,
    /// No edit is made before.
    pub(super) not_before: Option<Instant>,
    /// Of edits that the source did not make.
    pub(super) refusals: Backoff,
    /// So many keys go into a request, as far as is known of what the source takes; and whether more may.
    pub(super) part: usize,
    pub(super) grows: bool,
    /// Keys that the source refused, each alone.
    pub(super) refused: RefusedKeys<F>,
    /// Of keys that are known all has been told up to here.
    pub(super) reached: Option<ResourceVersion>,
    /// Whether a version that is not greater is not later.
    pub(super) ordered: bool,
    pub(super) whole: bool,
    /// Keys that are not asked for as they are wanted.
    pub(super) dirty: BTreeSet<F>,
    /// Those of them that were known, and of which what is held is old.
    pub(super) stale: BTreeSet<F>,
    /// What is held under those that are stale is of a time that never was: the source was restored.
    pub(super) lost: bool,
    /// Those that are so since somebody looked.
    pub(super) outdated: Vec<(F, Tenure)>,
    /// The source showed less than it once did, and has not shown since that it has it all.
    pub(super) doubted: bool,
    /// What the source is to say is complete.
    pub(super) awaited: Option<Awaited>,
    /// Since when the source shows less than it did, each time that it was asked.
    pub(super) behind: Option<Instant>,
    /// When the stream began, and how often it has told since what was not known.
    pub(super) began: Instant,
    pub(super) news: u64,
}

/// The source is to say that something is complete: an edit, or the keys that it was opened with. That it says other things
/// does not put this off for ever.
#[derive(Clone, Copy)]
pub(super) struct Awaited {
    pub(super) began: Instant,
    /// When the last object came.
    pub(super) told: Instant,
    pub(super) objects: usize,
}

#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Phase {
    /// With no key wanted there is nothing to ask for.
    Idle,
    Waiting,
    Opening {
        anew: bool,
    },
    /// It was opened, and its first keys are not complete.
    Beginning {
        anew: bool,
    },
    Going,
}

impl<F: Ord + Clone + Display> Editor<F> {
    pub(crate) fn new(limits: Limits, ordered: bool, seed: u64, now: Instant) -> Self {
        Self {
            limits: limits.bounded(),
            phase: Phase::Idle,
            due: now,
            backoff: Backoff::new(seed),
            wanted: BTreeMap::new(),
            asked: BTreeMap::new(),
            edit: None,
            not_before: None,
            refusals: Backoff::new(!seed),
            part: usize::MAX,
            grows: true,
            refused: RefusedKeys::new(seed.rotate_left(32)),
            reached: None,
            ordered,
            whole: false,
            dirty: BTreeSet::new(),
            stale: BTreeSet::new(),
            lost: false,
            outdated: Vec::new(),
            doubted: false,
            awaited: None,
            behind: None,
            began: now,
            news: 0,
        }
    }

    /// When [`Input::Time`] is to come, unless something else does. `None`: never.
    pub(crate) fn due(&self) -> Option<Instant> {
        let edit = self.not_before.or_else(|| self.refused.due());
        let edit = edit.filter(|_| self.phase == Phase::Going && self.edit.is_none());
        let due = [edit, self.overdue()].into_iter().flatten().fold(self.due, Instant::min);
        (self.phase != Phase::Idle).then_some(due)
    }

    /// The version up to which all is shown that was ever known of keys that are wanted; while some of that is old, none.
    pub(crate) fn shown(&self) -> Shown<'_> {
        match &self.reached {
            _ if self.doubted || (self.lost && !self.stale.is_empty()) => Shown::Doubtful,
            Some(version) if self.whole && self.stale.is_empty() => Shown::UpTo(version),
            _ => Shown::AsBefore,
        }
    }

    /// The keys of which it has become known that what is held under them is of a time that never was.
    pub(crate) fn take_outdated(&mut self) -> Vec<(F, Tenure)> {
        std::mem::take(&mut self.outdated)
    }

    /// Other keys are wanted, or others want them. [`Input::Time`] is to follow.
    pub(crate) fn want(&mut self, changed: impl IntoIterator<Item = (F, Option<Tenure>)>) {
        for (key, tenure) in changed {
            self.stale.remove(&key);
            self.refused.forget(&key);
            if let Some(tenure) = tenure {
                self.dirty.insert(key.clone());
                self.wanted.insert(key, tenure);
                continue;
            }
            self.wanted.remove(&key);
            // Of one that the source was never asked for nothing is to be taken back.
            if self.asked.contains_key(&key) {
                self.dirty.insert(key);
            } else {
                self.dirty.remove(&key);
            }
        }
        self.lost &= !self.stale.is_empty();
    }

    /// Goes on. No order: what is under way goes on too.
    pub(crate) fn step<T>(
        &mut self,
        now: Instant,
        input: Input<T>,
        effects: &mut Vec<Effect<T>>,
        complete: &mut Vec<(F, Tenure)>,
    ) -> Option<Order<F>> {
        match input {
            Input::Time => self.time(now, effects),
            Input::Opened => {
                if let Phase::Opening { anew } = self.phase {
                    self.phase = Phase::Beginning { anew };
                    self.due = now + self.limits.silence;
                    self.awaited = Some(Awaited { began: now, told: now, objects: 0 });
                    (self.began, self.news) = (now, 0);
                }
                None
            }
            Input::Failed(error) => Some(self.failed(now, error, effects)),
            Input::Ended => Some(self.ended(now, effects)),
            Input::Event(event) => self.event(now, event, effects, complete),
            Input::Edited(number) => {
                let edit = self.edit.as_mut()?;
                edit.number = Some(number);
                self.echo(now, None, effects, complete)
            }
            Input::NotEdited(error) => self.not_edited(now, error, effects),
            Input::Full => Some(self.full(now, effects)),
        }
    }

    fn time<T>(&mut self, now: Instant, effects: &mut Vec<Effect<T>>) -> Option<Order<F>> {
        match self.phase {
            Phase::Idle if self.wanted.is_empty() => None,
            Phase::Idle => Some(self.open(now, effects)),
            Phase::Waiting if now >= self.due => Some(self.open(now, effects)),
            Phase::Waiting => None,
            Phase::Opening { .. } if now >= self.due => {
                Some(self.failed(now, SourceError::TimedOut.into(), effects))
            }
            Phase::Beginning { .. } | Phase::Going if now >= self.due => {
                effects.push(Effect::Troubled(Trouble::Silent(self.limits.silence)));
                self.behind = None;
                self.abandon(now, effects);
                Some(self.open(now, effects))
            }
            Phase::Beginning { .. } | Phase::Going if self.overdue().is_some_and(|due| now >= due) => {
                Some(self.give_up(now, Trouble::NoEnd, effects))
            }
            Phase::Going => self.edit(now, effects),
            Phase::Opening { .. } | Phase::Beginning { .. } => None,
        }
    }

    /// Goes on where it was with the keys that are known; if there are none, with the state of those that are wanted. Others
    /// than go into the request are added by edits; so are those that were refused, unless there are no others.
    pub(super) fn open<T>(&mut self, now: Instant, effects: &mut Vec<Effect<T>>) -> Order<F> {
        self.asked.retain(|key, tenure| self.wanted.get(key) == Some(tenure));
        let resumes = self.whole && self.asked.keys().any(|key| !self.refused.has(key));
        let keys = if resumes {
            std::mem::take(&mut self.asked)
        } else {
            self.forget();
            self.asked.clear();
            self.dirty.clear();
            self.wanted.clone()
        };
        let are_refused = keys.keys().all(|key| self.refused.has(key));
        let alone = are_refused.then(|| self.refused.next()).flatten();
        let mut room = Room::new(&self.limits, self.part);
        for (key, tenure) in keys {
            let is_left_out = self.refused.has(&key) && alone.as_ref() != Some(&key);
            if !is_left_out && room.takes(&key) {
                self.asked.insert(key, tenure);
                continue;
            }
            if resumes {
                self.stale.insert(key.clone());
            }
            self.dirty.insert(key);
        }
        if self.asked.is_empty() {
            // There is nothing to worry about.
            effects.push(Effect::Well);
            self.phase = Phase::Idle;
            return Order::Wait;
        }
        self.phase = Phase::Opening { anew: !resumes };
        self.due = now + self.limits.answer_time;
        if !resumes {
            effects.push(Effect::Begin);
        }
        let after = self.reached.clone().filter(|_| resumes);
        Order::Open { keys: self.asked.clone(), after }
    }

    /// When what is awaited has not come in time.
    fn overdue(&self) -> Option<Instant> {
        let Awaited { began, told, .. } = self.awaited?;
        Some((told + self.limits.answer_time).min(began + self.limits.list_time))
    }
}

#[cfg(test)]
#[path = "editor_tests/mod.rs"]
mod tests;
