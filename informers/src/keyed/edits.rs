//! Edits of a stream of interest: what goes into the next one, and what becomes of the one that is under way.
//!
//! One edit is under way at a time. So a key that was removed and is added again is added only after the source has echoed
//! that it tells nothing more of it, and nothing that was on its way can be taken for its state.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Display;
use std::time::Instant;

use machinery_objects::{EditNumber, ResourceVersion, SourceError, WatchError};

use super::editor::{Awaited, Editor, Order};
use super::ends::LONGEST_WAIT;
use super::room::Room;
use super::wanted::Tenure;
use crate::reflect::{Effect, Trouble};

/// The edit that is under way.
pub(super) struct Edit<F> {
    add: BTreeMap<F, Tenure>,
    remove: BTreeMap<F, Tenure>,
    pub(super) number: Option<EditNumber>,
    /// How far the source has echoed before its number was known.
    echoed: Option<(EditNumber, ResourceVersion)>,
    /// The latest version that was told meanwhile. What was told of the keys that are known goes as far, also if it was told of the
    /// others: their state is as of a moment up to which all has been told.
    pub(super) told: Option<ResourceVersion>,
}

impl<F: Ord + Clone + Display> Editor<F> {
    /// The source says how far it is with edits, or it is known now which one is ours.
    pub(super) fn echo<T>(
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
        self.news += 1;
        self.refusals.reset();
        effects.extend([Effect::FinishSome, Effect::Well]);
        self.refused.retain(|key| !edit.add.contains_key(key));
        if self.grows {
            self.part = self.part.saturating_mul(2);
        }
        self.known(edit.add, complete);
        self.reach(version, effects);
        self.edit(now, effects)
    }

    /// The next edit, if other keys are wanted than were asked for and none is under way.
    pub(super) fn edit<T>(&mut self, now: Instant, effects: &mut Vec<Effect<T>>) -> Option<Order<F>> {
        if self.edit.is_some() || self.not_before.is_some_and(|then| now < then) {
            return None;
        }
        let was_refused = self.not_before.take().is_some();
        let (remove, add) = self.next();
        if remove.is_empty() && add.is_empty() {
            if was_refused {
                effects.push(Effect::Well);
            }
            return None;
        }
        for key in remove.keys() {
            self.asked.remove(key);
        }
        self.asked.extend(add.iter().map(|(key, tenure)| (key.clone(), *tenure)));
        let order = Order::Edit { remove: remove.keys().cloned().collect(), add: add.clone() };
        self.edit = Some(Edit { add, remove, number: None, echoed: None, told: None });
        self.awaited = Some(Awaited { began: now, told: now, objects: 0 });
        self.due = now + self.limits.silence;
        effects.push(Effect::BeginSome);
        Some(order)
    }

    /// What to remove and to add, as much as goes into a request. What is to be removed comes first: so the source never has more
    /// keys than are wanted, and those that it is yet to lose.
    fn next(&mut self) -> (BTreeMap<F, Tenure>, BTreeMap<F, Tenure>) {
        let (mut remove, mut add, mut room) =
            (BTreeMap::new(), BTreeMap::new(), Room::new(&self.limits, self.part));
        let dirty = std::mem::take(&mut self.dirty).into_iter();
        let dirty = dirty.filter(|key| self.asked.get(key) != self.wanted.get(key));
        let (gone, new): (BTreeSet<F>, BTreeSet<F>) = dirty.partition(|key| self.asked.contains_key(key));
        for key in gone {
            if room.takes(&key) {
                remove.insert(key.clone(), self.asked[&key]);
                if !self.wanted.contains_key(&key) {
                    continue;
                }
                // Others want it now: it is added when the source has echoed that it was removed.
            }
            self.dirty.insert(key);
        }
        let (refused, new): (Vec<F>, Vec<F>) = new.into_iter().partition(|key| self.refused.contains(key));
        for key in new {
            match self.wanted.get(&key) {
                Some(tenure) if room.takes(&key) => drop(add.insert(key, *tenure)),
                _ => drop(self.dirty.insert(key)),
            }
        }
        self.dirty.extend(refused.iter().cloned());
        // One by one, and not where others would be refused with it.
        let first = refused.into_iter().next().filter(|_| remove.is_empty() && add.is_empty());
        if let Some((key, tenure)) = first.and_then(|key| Some((key.clone(), *self.wanted.get(&key)?))) {
            self.dirty.remove(&key);
            add.insert(key, tenure);
        }
        (remove, add)
    }

    /// One that the source has no room for, or finds wrong, was not made. Of any other that is not known: the stream is opened again
    /// without it, and it is made later.
    pub(super) fn not_edited<T>(
        &mut self,
        now: Instant,
        error: WatchError,
        effects: &mut Vec<Effect<T>>,
    ) -> Option<Order<F>> {
        let Edit { add, remove, .. } = self.edit.as_ref()?;
        let retry_after = match error {
            WatchError::Source(SourceError::TooManyRequests { retry_after }) => retry_after,
            WatchError::Source(SourceError::Invalid { .. }) => {
                let count = add.len() + remove.len();
                if count == 1 {
                    // It is this key, and not how many there are.
                    self.refused.extend(add.keys().cloned());
                }
                self.halve(count, false);
                None
            }
            _ => return Some(self.failed(now, error, effects)),
        };
        let removed = self.break_off(now, effects);
        self.asked.extend(removed);
        let least = retry_after.map(|least| now + least.min(LONGEST_WAIT));
        self.not_before = self.not_before.max(least);
        self.awaited = None;
        effects.push(Effect::Troubled(Trouble::Watch(error)));
        None
    }

    /// The source finds something wrong with a request of so many keys: there may be too many, or one is wrong. One is not too many.
    pub(super) const fn halve(&mut self, count: usize, grows: bool) {
        let is_one = count <= 1;
        (self.part, self.grows) = (if is_one { usize::MAX } else { count / 2 }, grows || is_one);
    }

    /// The edit that is under way comes to nothing. Its keys are to be edited later. Returns those that it was to remove.
    pub(super) fn break_off<T>(&mut self, now: Instant, effects: &mut Vec<Effect<T>>) -> BTreeMap<F, Tenure> {
        let Some(Edit { add, remove, told, .. }) = self.edit.take() else { return BTreeMap::new() };
        effects.push(Effect::Abandon);
        for key in add.keys() {
            self.asked.remove(key);
        }
        self.dirty.extend(add.into_keys().chain(remove.keys().cloned()));
        if let Some(told) = told {
            self.reach(told, effects);
        }
        self.not_before = Some(now + self.refusals.next());
        remove
    }
}
