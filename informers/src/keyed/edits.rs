//! Edits of an interest stream: the content of the next one, and the fate of the one in flight.
//!
//! One edit is in flight at a time. So a key that is removed and added again is added only after
//! the source has echoed its removal, and no event in flight can be mistaken for its state.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Display;
use std::time::Instant;

use machinery_objects::{EditNumber, ResourceVersion, SourceError, WatchError};

use super::editor::{AwaitedCompletion, Editor, StreamCommand};
use super::interest_counts::Tenure;
use super::request_budget::RequestBudget;
use super::stream_end::LONGEST_WAIT;
use crate::reflect::{Effect, ReflectorError};

/// The edit in flight.
pub(super) struct Edit<F> {
    add: BTreeMap<F, Tenure>,
    remove: BTreeMap<F, Tenure>,
    pub(super) number: Option<EditNumber>,
    /// The last echo, if it arrived before the number of the edit.
    echoed: Option<(EditNumber, ResourceVersion)>,
    /// The latest version received during the edit. It holds for the known keys also if it came
    /// with an object of the others: their state is taken at a version up to which all events were
    /// all sent.
    pub(super) last_version: Option<ResourceVersion>,
}

impl<F> Edit<F> {
    /// Number of keys of the edit.
    pub(super) fn len(&self) -> usize {
        self.add.len() + self.remove.len()
    }
}

impl<F: Ord + Clone + Display> Editor<F> {
    /// Processes an echo of the source, or the number of the edit in flight.
    pub(super) fn echo<T>(
        &mut self,
        now: Instant,
        echoed: Option<(EditNumber, ResourceVersion)>,
        effects: &mut Vec<Effect<T>>,
        complete: &mut Vec<(F, Tenure)>,
    ) -> Option<StreamCommand<F>> {
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
        self.progress_events += 1;
        self.edit_backoff.reset();
        effects.extend([Effect::FinishPartialRelist, Effect::Recovered]);
        edit.add.keys().for_each(|key| self.refused.taken(key));
        if self.batch_grows {
            self.batch = self.batch.saturating_mul(2);
        }
        self.keys_complete(edit.add, complete);
        self.advance(version, effects);
        self.edit(now, effects)
    }

    /// Starts the next edit, if the desired keys differ from the requested ones and none is in
    /// flight.
    pub(super) fn edit<T>(&mut self, now: Instant, effects: &mut Vec<Effect<T>>) -> Option<StreamCommand<F>> {
        if self.edit.is_some() || self.not_before.is_some_and(|then| now < then) {
            return None;
        }
        let was_refused = self.not_before.take().is_some();
        let cleared = self.refused.take_cleared();
        let (remove, add) = self.next(now);
        if remove.is_empty() && add.is_empty() {
            if was_refused || cleared {
                effects.push(Effect::Recovered);
            }
            return None;
        }
        for key in remove.keys() {
            self.requested.remove(key);
        }
        self.requested.extend(add.iter().map(|(key, tenure)| (key.clone(), *tenure)));
        let command = StreamCommand::Edit { remove: remove.keys().cloned().collect(), add: add.clone() };
        self.edit = Some(Edit { add, remove, number: None, echoed: None, last_version: None });
        self.awaited = Some(AwaitedCompletion { began: now, last_object: now, objects: 0 });
        self.due = now + self.limits.silence;
        effects.push(Effect::BeginPartialRelist);
        Some(command)
    }

    /// Returns the keys to remove and to add, as many as fit. Removals come first, so that the
    /// source never has more than the desired keys and those still to be removed.
    fn next(&mut self, now: Instant) -> (BTreeMap<F, Tenure>, BTreeMap<F, Tenure>) {
        let (mut remove, mut add, mut budget) =
            (BTreeMap::new(), BTreeMap::new(), RequestBudget::new(&self.limits, self.batch));
        let dirty = std::mem::take(&mut self.dirty).into_iter();
        let dirty = dirty.filter(|key| self.requested.get(key) != self.desired.get(key));
        let (gone, new): (BTreeSet<F>, BTreeSet<F>) = dirty.partition(|key| self.requested.contains_key(key));
        for key in gone {
            if budget.take(&key) {
                remove.insert(key.clone(), self.requested[&key]);
                if !self.desired.contains_key(&key) {
                    continue;
                }
                // The key has another tenure: it is added once its removal is echoed.
            }
            self.dirty.insert(key);
        }
        let (refused, new): (Vec<F>, Vec<F>) = new.into_iter().partition(|key| self.refused.has(key));
        for key in new {
            match self.desired.get(&key) {
                Some(tenure) if budget.take(&key) => drop(add.insert(key, *tenure)),
                _ => drop(self.dirty.insert(key)),
            }
        }
        self.dirty.extend(refused);
        // Rejected keys are tried alone, so that they cause no rejection of others.
        let is_due = remove.is_empty() && add.is_empty() && self.refused.due().is_none_or(|due| now >= due);
        if let Some(key) = self.refused.next().filter(|_| is_due)
            && let Some(tenure) = self.desired.get(&key)
        {
            self.dirty.remove(&key);
            add.insert(key, *tenure);
        }
        (remove, add)
    }

    /// Handles a failed edit. One that was throttled or rejected as invalid was not applied; after
    /// any other failure that is unknown, so the stream is opened again without it, and the edit is
    /// retried later.
    pub(super) fn not_edited<T>(
        &mut self,
        now: Instant,
        error: WatchError,
        effects: &mut Vec<Effect<T>>,
    ) -> Option<StreamCommand<F>> {
        let edit = self.edit.as_ref()?;
        let mut refused = None;
        let retry_after = match error {
            WatchError::Source(SourceError::TooManyRequests { retry_after }) => retry_after,
            WatchError::Source(SourceError::Invalid { .. }) => {
                let count = edit.len();
                if count > 1 {
                    // Not to grow: the limit of a source is permanent, unless one key is at fault.
                    (self.batch, self.batch_grows) = (count / 2, false);
                } else if let Some(key) = edit.add.keys().next().filter(|key| !self.refused.has(key)) {
                    // The key is at fault, not the number of keys.
                    refused = Some(key.clone());
                    self.edit_backoff.reset();
                }
                None
            }
            _ => return Some(self.failed(now, error, effects)),
        };
        let removed = self.break_off(now, effects);
        // The edit was not applied, so the source still has these keys.
        self.requested.extend(removed);
        if let Some(key) = refused {
            self.refuse(&key, now);
        }
        let least = retry_after.map(|least| now + least.min(LONGEST_WAIT));
        self.not_before = self.not_before.max(least);
        self.awaited = None;
        effects.push(Effect::Failed(ReflectorError::Watch(error)));
        self.edit(now, effects)
    }

    /// Records a rejected key; returns whether it is new. The batch may grow again, as this key may
    /// be the reason of earlier rejections. A key without interest is not recorded.
    pub(super) fn refuse(&mut self, key: &F, now: Instant) -> bool {
        let is_new = self.desired.contains_key(key) && self.refused.refuse(key, now);
        self.batch_grows |= is_new;
        is_new
    }

    /// Cancels the edit in flight; its keys are edited later. Returns the keys that it was to
    /// remove.
    pub(super) fn break_off<T>(&mut self, now: Instant, effects: &mut Vec<Effect<T>>) -> BTreeMap<F, Tenure> {
        let Some(Edit { add, remove, last_version, .. }) = self.edit.take() else { return BTreeMap::new() };
        effects.push(Effect::AbandonRelist);
        for key in add.keys() {
            self.requested.remove(key);
        }
        let tried = add.keys().next().filter(|key| self.refused.has(key)).cloned();
        self.dirty.extend(add.into_keys().chain(remove.keys().cloned()));
        // Valid for resuming even in mid-edit: "Resuming" in docs/designs/009-interest.md.
        if let Some(last_version) = last_version {
            self.advance(last_version, effects);
        }
        match tried {
            // It delays no other keys.
            Some(key) => drop(self.refuse(&key, now)),
            None => self.not_before = Some(now + self.edit_backoff.next()),
        }
        remove
    }
}
