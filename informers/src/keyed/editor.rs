//! A stream of interest as a machine: which keys it is opened with, which edit comes next, and what becomes of what is held.
//!
//! A request is bounded, and so a stream is opened with as many keys as go into one; `edits` brings the rest. Keys are *known*
//! when all of them has come: with those a stream that breaks is opened again after what it told last. All others are added
//! anew, and what is held under them stays until it has been seen what is there.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Display;
use std::time::{Duration, Instant};

use machinery_objects::{EditNumber, ResourceVersion, SourceError, WatchError, WatchEvent};

use super::edits::Edit;
use super::room::Room;
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
    backoff: Backoff,
    /// The keys that are wanted.
    pub(super) wanted: BTreeMap<F, Tenure>,
    /// Those that the source was asked for. They are known, but for what an edit adds, if all is `whole`.
    pub(super) asked: BTreeMap<F, Tenure>,
    pub(super) edit: Option<Edit<F>>,
    /// No edit is made before.
    pub(super) not_before: Option<Instant>,
    /// Of edits that the source did not make.
    pub(super) refusals: Backoff,
    /// Of keys that are known all has been told up to here.
    pub(super) reached: Option<ResourceVersion>,
    /// Whether a version that is not greater is not later.
    pub(super) ordered: bool,
    whole: bool,
    /// Keys that are not asked for as they are wanted.
    pub(super) dirty: BTreeSet<F>,
    /// Those of them that were known, and of which what is held is old.
    pub(super) stale: BTreeSet<F>,
    /// What the source is to say is complete.
    pub(super) awaited: Option<Awaited>,
    /// Since when the source shows less than it did.
    behind: Option<Instant>,
    /// When the stream began, and how often it has told since what was not known.
    began: Instant,
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

/// The longest that a source may tell us to wait.
pub(super) const LONGEST_WAIT: Duration = Duration::from_secs(300);
/// A stream that ends sooner, and told nothing, has been none.
const SHORT: Duration = Duration::from_secs(1);

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
            reached: None,
            ordered,
            whole: false,
            dirty: BTreeSet::new(),
            stale: BTreeSet::new(),
            awaited: None,
            behind: None,
            began: now,
            news: 0,
        }
    }

    /// When [`Input::Time`] is to come, unless something else does. `None`: never.
    pub(crate) fn due(&self) -> Option<Instant> {
        let edit = self.not_before.filter(|_| self.phase == Phase::Going);
        let due = [edit, self.overdue()].into_iter().flatten().fold(self.due, Instant::min);
        (self.phase != Phase::Idle).then_some(due)
    }

    /// Other keys are wanted, or others want them. [`Input::Time`] is to follow.
    pub(crate) fn want(&mut self, changed: impl IntoIterator<Item = (F, Option<Tenure>)>) {
        for (key, tenure) in changed {
            self.stale.remove(&key);
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
    /// than go into the request are added by edits.
    fn open<T>(&mut self, now: Instant, effects: &mut Vec<Effect<T>>) -> Order<F> {
        let mut keys = std::mem::take(&mut self.asked);
        keys.retain(|key, tenure| self.whole && self.wanted.get(key) == Some(tenure));
        let resumes = !keys.is_empty();
        if !resumes {
            keys.clone_from(&self.wanted);
            self.dirty.clear();
        }
        self.whole = resumes;
        let mut room = Room::new(&self.limits);
        for (key, tenure) in keys {
            if room.takes(&key) {
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

    /// The stream is over, and what was coming anew does not come.
    fn abandon<T>(&mut self, now: Instant, effects: &mut Vec<Effect<T>>) {
        self.awaited = None;
        if matches!(self.phase, Phase::Opening { anew: true } | Phase::Beginning { anew: true }) {
            effects.push(Effect::Abandon);
        } else if self.edit.is_some() {
            self.break_off(now, effects);
        }
        if self.has_lasted(now) {
            self.backoff.reset();
        }
    }

    /// No key is known any more.
    fn forget(&mut self) {
        if std::mem::take(&mut self.whole) {
            let old = self.asked.iter().filter(|(key, tenure)| self.wanted.get(*key) == Some(*tenure));
            self.stale.extend(old.map(|(key, _)| key.clone()));
        }
    }

    fn has_lasted(&self, now: Instant) -> bool {
        matches!(self.phase, Phase::Beginning { anew: false } | Phase::Going)
            && (self.news > 0 || now >= self.began + SHORT)
    }

    /// When what is awaited has not come in time.
    fn overdue(&self) -> Option<Instant> {
        let Awaited { began, told, .. } = self.awaited?;
        Some((told + self.limits.answer_time).min(began + self.limits.list_time))
    }

    /// What is awaited does not come: it is asked for anew, later.
    fn give_up<T>(&mut self, now: Instant, trouble: Trouble, effects: &mut Vec<Effect<T>>) -> Order<F> {
        let edits = self.edit.is_some();
        self.abandon(now, effects);
        effects.push(Effect::Troubled(trouble));
        if !edits {
            self.forget();
        }
        self.wait(now, None)
    }

    fn wait(&mut self, now: Instant, retry_after: Option<Duration>) -> Order<F> {
        let wait = self.backoff.next();
        self.phase = Phase::Waiting;
        self.due = now + retry_after.map_or(wait, |least| wait.max(least.min(LONGEST_WAIT)));
        Order::Wait
    }

    pub(super) fn failed<T>(
        &mut self,
        now: Instant,
        error: WatchError,
        effects: &mut Vec<Effect<T>>,
    ) -> Order<F> {
        self.abandon(now, effects);
        let retry_after = match &error {
            WatchError::Expired => {
                self.forget();
                None
            }
            WatchError::FutureRevision { retry_after, .. } => {
                let since = *self.behind.get_or_insert(now);
                if now >= since + self.limits.stale_time {
                    // It was restored: what is there now is all that there is.
                    self.forget();
                }
                *retry_after
            }
            WatchError::Source(source) => source.retry_after(),
            _ => None,
        };
        let at_once = error == WatchError::Expired && self.backoff.failures() == 0;
        effects.push(Effect::Troubled(Trouble::Watch(error)));
        if at_once {
            self.backoff.next();
            return self.open(now, effects);
        }
        self.wait(now, retry_after)
    }

    /// Its time was over, as that of any watch is. One that has been none is opened later.
    fn ended<T>(&mut self, now: Instant, effects: &mut Vec<Effect<T>>) -> Order<F> {
        match self.phase {
            Phase::Beginning { anew: false } | Phase::Going if self.has_lasted(now) => {
                self.abandon(now, effects);
                self.open(now, effects)
            }
            Phase::Beginning { anew: false } | Phase::Going => {
                self.abandon(now, effects);
                effects.push(Effect::Troubled(Trouble::Short));
                self.wait(now, None)
            }
            _ => {
                let reason = "the stream ended before the state of its keys did".into();
                self.failed(now, SourceError::Unavailable { reason, retry_after: None }.into(), effects)
            }
        }
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
        // Only the state of keys comes in no order.
        let anew = self.phase == Phase::Beginning { anew: true };
        let is_mark = matches!(event, WatchEvent::Bookmark { .. });
        if !is_mark {
            self.news += u64::from(!anew);
            if let Some(awaited) = &mut self.awaited {
                awaited.told = now;
                awaited.objects += 1;
                if anew && awaited.objects > self.limits.objects {
                    let limit = self.limits.objects as u64;
                    return Some(self.give_up(now, Trouble::Endless { limit, of: "objects" }, effects));
                }
            }
        }
        let version = version_of(&event).filter(|_| !anew);
        if let (Some(edit), false) = (&mut self.edit, is_mark) {
            if self.ordered && version > edit.told {
                edit.told = version;
            }
            effects.extend(effect_of(event));
            return None;
        }
        // It was told before, and what came of it since may be forgotten here. The end of an object may have the version of
        // its last state.
        let is_end = matches!(event, WatchEvent::Deleted(_) | WatchEvent::Left(_))
            || matches!(&event, WatchEvent::Unreadable(unreadable) if unreadable.is_gone);
        if self.ordered && !is_end && version.is_some() && version < self.reached {
            effects.push(Effect::Late);
            return None;
        }
        effects.extend(effect_of(event));
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
        self.whole = true;
        if anew {
            self.reached = Some(version.clone());
            effects.push(Effect::Finish(version));
            self.known(self.asked.clone(), complete);
        } else {
            self.reach(version, effects);
        }
        effects.push(Effect::Well);
        self.edit(now, effects)
    }

    /// All of these has come.
    pub(super) fn known(&mut self, keys: BTreeMap<F, Tenure>, complete: &mut Vec<(F, Tenure)>) {
        if !self.stale.is_empty() {
            self.stale.retain(|key| !keys.contains_key(key));
        }
        complete.extend(keys);
    }

    pub(super) fn reach<T>(&mut self, version: ResourceVersion, effects: &mut Vec<Effect<T>>) {
        let is_told = |reached: &ResourceVersion| *reached == version || (self.ordered && *reached > version);
        if self.reached.as_ref().is_some_and(is_told) {
            return;
        }
        self.reached = Some(version.clone());
        effects.push(Effect::Reached(version));
    }
}

#[cfg(test)]
#[path = "editor_tests.rs"]
mod tests;
