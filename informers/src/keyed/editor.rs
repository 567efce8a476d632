//! A stream of interest as a machine: which keys it is opened with, which edit comes next, and what becomes of what is held.
//!
//! One edit is under way at a time. So a key that was removed and is added again is added only after the source has echoed
//! that it tells nothing more of it, and nothing that was on its way can be taken for its state.

use std::collections::{BTreeMap, BTreeSet};
use std::time::{Duration, Instant};

use machinery_objects::{EditNumber, ResourceVersion, SourceError, WatchError, WatchEvent};

use super::wanted::Tenure;
use crate::reflect::{Backoff, Effect, Found, Limits, Trouble, effect_of, version_of};

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
}

/// What to ask the source for.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Order<F> {
    /// In place of whatever was under way.
    Open {
        keys: BTreeSet<F>,
        after: Option<ResourceVersion>,
    },
    Edit {
        remove: BTreeSet<F>,
        add: BTreeSet<F>,
    },
    /// Nothing, and drop what is under way, until [`Editor::due`].
    Wait,
}

/// The machine. `F` is what keys are.
pub(crate) struct Editor<F> {
    limits: Limits,
    phase: Phase,
    due: Instant,
    backoff: Backoff,
    /// The keys that are wanted.
    wanted: BTreeMap<F, Tenure>,
    /// Those that the source was asked for; of what is under others nothing is taken.
    asked: BTreeMap<F, Tenure>,
    edit: Option<Edit<F>>,
    /// The source has too many edits, and takes another one then.
    not_before: Option<Instant>,
    reached: Option<ResourceVersion>,
    /// Whether a version that is not greater is not later.
    ordered: bool,
    /// What is held is what `asked` says, up to `reached`.
    whole: bool,
    /// Keys that are not asked for as they are wanted.
    dirty: BTreeSet<F>,
    /// What the source is to say is complete.
    awaited: Option<Awaited>,
    /// Since when the source shows less than it did.
    behind: Option<Instant>,
}

/// The source is to say that something is complete: an edit, or the keys that it was opened with. That it says other things
/// does not put this off for ever.
#[derive(Clone, Copy)]
struct Awaited {
    began: Instant,
    /// When the last object came.
    told: Instant,
    objects: usize,
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Phase {
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

/// The edit that is under way.
struct Edit<F> {
    add: BTreeMap<F, Tenure>,
    number: Option<EditNumber>,
    /// How far the source has echoed before its number was known.
    echoed: Option<(EditNumber, ResourceVersion)>,
    remove: BTreeMap<F, Tenure>,
}

impl<F: Ord + Clone> Editor<F> {
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
            reached: None,
            ordered,
            whole: false,
            dirty: BTreeSet::new(),
            awaited: None,
            behind: None,
        }
    }

    /// When [`Input::Time`] is to come, unless something else does. `None`: never.
    pub(crate) fn due(&self) -> Option<Instant> {
        let edit = self.not_before.filter(|_| self.phase == Phase::Going);
        let due = [edit, self.overdue()].into_iter().flatten().fold(self.due, Instant::min);
        (self.phase != Phase::Idle).then_some(due)
    }

    /// The keys of which something is taken.
    pub(crate) const fn asked(&self) -> &BTreeMap<F, Tenure> {
        &self.asked
    }

    /// Other keys are wanted, or others want them. [`Input::Time`] is to follow.
    pub(crate) fn want(&mut self, changed: impl IntoIterator<Item = (F, Option<Tenure>)>) {
        for (key, tenure) in changed {
            self.dirty.insert(key.clone());
            match tenure {
                Some(tenure) => self.wanted.insert(key, tenure),
                None => self.wanted.remove(&key),
            };
        }
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
                }
                None
            }
            Input::Failed(error) => Some(self.failed(now, error, effects)),
            Input::Ended => {
                let reason = "the stream ended".into();
                let error = SourceError::Unavailable { reason, retry_after: None };
                Some(self.failed(now, error.into(), effects))
            }
            Input::Event(event) => self.event(now, event, effects, complete),
            Input::Edited(number) => {
                let edit = self.edit.as_mut()?;
                edit.number = Some(number);
                self.echo(now, None, effects, complete)
            }
            Input::NotEdited(error) => self.not_edited(now, error, effects),
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
                self.abandon(effects);
                Some(self.open(now, effects))
            }
            Phase::Beginning { .. } | Phase::Going if self.overdue().is_some_and(|due| now >= due) => {
                Some(self.give_up(now, Trouble::NoEnd, effects))
            }
            Phase::Going => self.edit(now),
            Phase::Opening { .. } | Phase::Beginning { .. } => None,
        }
    }

    /// Goes on where it was, if it is of the same keys; else with the state of all.
    fn open<T>(&mut self, now: Instant, effects: &mut Vec<Effect<T>>) -> Order<F> {
        let resumes = self.whole && self.edit.is_none() && !self.asked.is_empty();
        self.edit = None;
        self.not_before = None;
        self.awaited = None;
        if !resumes {
            self.asked.clone_from(&self.wanted);
            self.dirty.clear();
        }
        if self.asked.is_empty() {
            // There is nothing to worry about.
            effects.push(Effect::Well);
            self.phase = Phase::Idle;
            return Order::Wait;
        }
        self.whole = resumes;
        self.phase = Phase::Opening { anew: !resumes };
        self.due = now + self.limits.answer_time;
        if !resumes {
            effects.push(Effect::Begin);
        }
        let after = self.reached.clone().filter(|_| resumes);
        Order::Open { keys: self.asked.keys().cloned().collect(), after }
    }

    fn abandon<T>(&self, effects: &mut Vec<Effect<T>>) {
        if matches!(self.phase, Phase::Opening { anew: true } | Phase::Beginning { anew: true }) {
            effects.push(Effect::Abandon);
        }
    }

    /// When what is awaited has not come in time.
    fn overdue(&self) -> Option<Instant> {
        let Awaited { began, told, .. } = self.awaited?;
        Some((told + self.limits.answer_time).min(began + self.limits.list_time))
    }

    /// What is under way leads nowhere: all is asked for anew, later.
    fn give_up<T>(&mut self, now: Instant, trouble: Trouble, effects: &mut Vec<Effect<T>>) -> Order<F> {
        self.abandon(effects);
        effects.push(Effect::Troubled(trouble));
        self.whole = false;
        self.phase = Phase::Waiting;
        (self.not_before, self.awaited) = (None, None);
        self.due = now + self.backoff.next();
        Order::Wait
    }

    fn failed<T>(&mut self, now: Instant, error: WatchError, effects: &mut Vec<Effect<T>>) -> Order<F> {
        self.abandon(effects);
        let retry_after = match &error {
            WatchError::Expired => {
                self.whole = false;
                None
            }
            WatchError::FutureRevision { retry_after, .. } => {
                let since = *self.behind.get_or_insert(now);
                // It was restored: what is there now is all that there is.
                self.whole &= now < since + self.limits.stale_time;
                *retry_after
            }
            WatchError::Source(source) => source.retry_after(),
            _ => None,
        };
        let at_once = error == WatchError::Expired && self.backoff.failures() == 0;
        effects.push(Effect::Troubled(Trouble::Watch(error)));
        let wait = self.backoff.next();
        if at_once {
            return self.open(now, effects);
        }
        self.phase = Phase::Waiting;
        (self.not_before, self.awaited) = (None, None);
        self.due = now + retry_after.map_or(wait, |least| wait.max(least.min(LONGEST_WAIT)));
        Order::Wait
    }

    fn event<T>(
        &mut self,
        now: Instant,
        event: WatchEvent<Found<T>>,
        effects: &mut Vec<Effect<T>>,
        complete: &mut Vec<(F, Tenure)>,
    ) -> Option<Order<F>> {
        if !matches!(self.phase, Phase::Beginning { .. } | Phase::Going) {
            return None;
        }
        self.due = now + self.limits.silence;
        if let WatchEvent::Complete { edit, version } = event {
            return match self.phase {
                Phase::Beginning { anew } => self.begun(now, anew, version, effects, complete),
                _ => self.echo(now, Some((edit, version)), effects, complete),
            };
        }
        if !matches!(event, WatchEvent::Bookmark { .. }) {
            let anew = self.phase == Phase::Beginning { anew: true };
            if let Some(awaited) = &mut self.awaited {
                awaited.told = now;
                awaited.objects += 1;
                if anew && awaited.objects > self.limits.objects {
                    let limit = self.limits.objects as u64;
                    return Some(self.give_up(now, Trouble::Endless { limit, of: "objects" }, effects));
                }
            }
        }
        // Only the state of keys comes in no order.
        let in_order = matches!(self.phase, Phase::Going | Phase::Beginning { anew: false });
        let version = version_of(&event).filter(|_| in_order && self.edit.is_none());
        // It was told before, and what came of it since may be forgotten here. The end of an object may have the version of
        // its last state.
        let is_end = matches!(event, WatchEvent::Deleted(_) | WatchEvent::Left(_))
            || matches!(&event, WatchEvent::Unreadable(unreadable) if unreadable.is_gone);
        if self.ordered && !is_end && version.is_some() && version < self.reached {
            effects.push(Effect::Late);
            return None;
        }
        effects.extend(effect_of(event));
        // What the state of a key shows may be older than what came of others.
        if let Some(version) = version {
            self.reach(version, effects);
        }
        None
    }

    /// The keys that it was opened with are complete.
    fn begun<T>(
        &mut self,
        now: Instant,
        anew: bool,
        version: ResourceVersion,
        effects: &mut Vec<Effect<T>>,
        complete: &mut Vec<(F, Tenure)>,
    ) -> Option<Order<F>> {
        if anew
            && self.ordered
            && let Some(seen) = self.reached.clone().filter(|seen| *seen > version)
        {
            let since = *self.behind.get_or_insert(now);
            if now < since + self.limits.stale_time {
                return Some(self.give_up(now, Trouble::Behind { found: version, seen }, effects));
            }
        }
        self.phase = Phase::Going;
        (self.awaited, self.behind) = (None, None);
        self.backoff.reset();
        self.whole = true;
        if anew {
            self.reached = Some(version.clone());
            effects.push(Effect::Finish(version));
        } else {
            self.reach(version, effects);
        }
        effects.push(Effect::Well);
        complete.extend(self.asked.iter().map(|(key, tenure)| (key.clone(), *tenure)));
        self.edit(now)
    }

    /// The source says how far it is with edits, or it is known now which one is ours.
    fn echo<T>(
        &mut self,
        now: Instant,
        echoed: Option<(EditNumber, ResourceVersion)>,
        effects: &mut Vec<Effect<T>>,
        complete: &mut Vec<(F, Tenure)>,
    ) -> Option<Order<F>> {
        let edit = self.edit.as_mut()?;
        if let Some(echoed) = echoed {
            edit.echoed = Some(echoed);
        }
        let (number, (echoed, version)) = (edit.number?, edit.echoed.clone()?);
        if echoed < number {
            return None;
        }
        let edit = self.edit.take()?;
        self.awaited = None;
        self.backoff.reset();
        effects.push(Effect::Well);
        complete.extend(edit.add);
        self.reach(version, effects);
        self.edit(now)
    }

    /// The next edit, if other keys are wanted than were asked for and none is under way.
    fn edit(&mut self, now: Instant) -> Option<Order<F>> {
        if self.edit.is_some() || self.not_before.is_some_and(|then| now < then) {
            return None;
        }
        self.not_before = None;
        let (mut remove, mut add) = (BTreeMap::new(), BTreeMap::new());
        for key in std::mem::take(&mut self.dirty) {
            match (self.asked.get(&key), self.wanted.get(&key)) {
                (Some(asked), wanted) if wanted != Some(asked) => {
                    remove.insert(key.clone(), *asked);
                    // One that others want now is added when the source has echoed that it was removed.
                    if wanted.is_some() {
                        self.dirty.insert(key);
                    }
                }
                (None, Some(wanted)) => drop(add.insert(key, *wanted)),
                _ => {}
            }
        }
        if remove.is_empty() && add.is_empty() {
            return None;
        }
        for key in remove.keys() {
            self.asked.remove(key);
        }
        self.asked.extend(add.iter().map(|(key, tenure)| (key.clone(), *tenure)));
        let keys = |keys: &BTreeMap<F, Tenure>| keys.keys().cloned().collect();
        let order = Order::Edit { remove: keys(&remove), add: keys(&add) };
        self.edit = Some(Edit { add, remove, number: None, echoed: None });
        self.awaited = Some(Awaited { began: now, told: now, objects: 0 });
        self.due = now + self.limits.silence;
        Some(order)
    }

    /// One that the source has no room for was not made. Of any other that is not known: it is opened again.
    fn not_edited<T>(
        &mut self,
        now: Instant,
        error: WatchError,
        effects: &mut Vec<Effect<T>>,
    ) -> Option<Order<F>> {
        let edit = self.edit.take()?;
        let WatchError::Source(SourceError::TooManyRequests { retry_after }) = error else {
            self.whole = false;
            return Some(self.failed(now, error, effects));
        };
        for key in edit.add.keys() {
            self.asked.remove(key);
        }
        self.dirty.extend(edit.add.keys().chain(edit.remove.keys()).cloned());
        self.asked.extend(edit.remove);
        let wait = self.backoff.next();
        self.not_before = Some(now + retry_after.map_or(wait, |least| wait.max(least.min(LONGEST_WAIT))));
        self.awaited = None;
        let error = SourceError::TooManyRequests { retry_after };
        effects.push(Effect::Troubled(Trouble::Watch(error.into())));
        None
    }

    fn reach<T>(&mut self, version: ResourceVersion, effects: &mut Vec<Effect<T>>) {
        let is_told = |reached: &ResourceVersion| *reached == version || (self.ordered && *reached > version);
        if self.reached.as_ref().is_some_and(is_told) {
            return;
        }
        self.reached = Some(version.clone());
        effects.push(Effect::Reached(version));
    }
}

/// The longest that a source may tell us to wait.
const LONGEST_WAIT: Duration = Duration::from_secs(300);

#[cfg(test)]
#[path = "editor_tests.rs"]
mod tests;
