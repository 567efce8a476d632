//! Applies the effects of a reflector to an object store, and collects the notifications for
//! handlers.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use foldhash::fast::FixedState;
use machinery_objects::{LeaveReason, Object, ObjectKey, ResourceVersion, Unreadable};

use super::partial_relist::PartialRelist;
use super::relist::{Relist, RelistChange, UNREADABLE, is_same};
use super::store::{AppliedChanges, ListedKeys, ObjectStore, StoreTransaction};
use crate::deliver::{Removal, Steps};
use crate::reflect::{Effect, ReflectorError, RemovalKind, SourceObject};

/// The writing side of a cache; readers have the store.
pub(crate) struct CacheWriter<T, S> {
    store: S,
    seed: FixedState,
    /// Whether versions are ordered: a version that is not greater is not later.
    ordered: bool,
    relist: Option<Relist<T>>,
    /// The partial relist that is running.
    partial: Option<PartialRelist>,
    /// The version up to which the cache is current.
    progress: Option<ResourceVersion>,
    synced: bool,
    unreadable: BTreeMap<ObjectKey, Unreadable>,
    /// Number of late changes: those that arrived after a newer version of their object.
    late: u64,
}

/// The notifications of applied effects: first those of objects, then the state of the cache.
#[derive(Debug)]
pub(crate) struct Outcome<N, T> {
    pub(crate) changed: AppliedChanges<N, T>,
    /// The cache is current up to this version.
    pub(crate) progress: Option<ResourceVersion>,
    /// A relist, or the initial list, was completed.
    pub(crate) relisted: bool,
    /// The steps of the changes: those of a list skip versions.
    pub(crate) steps: Steps,
    pub(crate) first_sync: bool,
    /// The errors, and whether the source has recovered since the last of them.
    pub(crate) errors: Vec<ReflectorError>,
    pub(crate) recovered: bool,
    /// The cache is full: this change and the rest of the batch were dropped.
    pub(crate) is_full: bool,
    /// Number of late changes, and of unreadable objects.
    pub(crate) late: u64,
    pub(crate) unreadable: u64,
}

impl<T: Object, S: ObjectStore<T>> CacheWriter<T, S> {
    pub(crate) fn new(store: S, seed: u64, ordered: bool) -> Self {
        Self {
            store,
            seed: FixedState::with_seed(seed),
            ordered,
            relist: None,
            partial: None,
            progress: None,
            synced: false,
            unreadable: BTreeMap::new(),
            late: 0,
        }
    }

    /// The unreadable objects, at most a thousand of them.
    pub(crate) const fn unreadable(&self) -> &BTreeMap<ObjectKey, Unreadable> {
        &self.unreadable
    }

    /// Returns whether a relist is running.
    pub(crate) const fn is_relisting(&self) -> bool {
        self.relist.is_some()
    }

    pub(crate) const fn late(&self) -> u64 {
        self.late
    }

    /// Applies the effects and returns the notifications, of objects only if there are handlers.
    ///
    /// A relist is committed as one transaction; each other change is one of its own, which the map
    /// makes in place.
    pub(crate) fn apply(
        &mut self,
        effects: &mut Vec<Effect<Arc<T>>>,
        has_handlers: bool,
    ) -> Outcome<S::Name, T> {
        let mut out = Outcome::default();
        out.changed.has_handlers = has_handlers;
        let late = self.late;
        let store = self.store.clone();
        for effect in effects.drain(..) {
            // Later changes without the dropped one would be no version of the source.
            if out.is_full {
                out.changed.displaced.extend(object_of(effect));
                continue;
            }
            match effect {
                Effect::BeginRelist => self.relist = Some(Relist::new(self.seed.clone(), store.len())),
                Effect::BeginPartialRelist => self.partial = Some(PartialRelist::new(self.seed.clone())),
                Effect::FinishPartialRelist => {
                    let Some(PartialRelist { seen, .. }) = self.partial.take() else { continue };
                    out.steps = Steps::LISTED;
                    out.change(&store, |change| self.finish_some(&seen, change));
                }
                Effect::AbandonRelist => {
                    self.partial = None;
                    out.changed
                        .displaced
                        .extend(self.relist.take().into_iter().flat_map(Relist::into_objects));
                }
                Effect::Failed(trouble) => {
                    out.recovered = false;
                    out.errors.push(trouble);
                }
                Effect::Late => self.late += 1,
                Effect::Recovered => out.recovered = true,
                Effect::Progress(version) => {
                    self.progress = Some(version.clone());
                    out.progress = Some(version);
                }
                Effect::FinishRelist(version) => {
                    let Some(relist) = self.relist.take() else { continue };
                    // A version goes back only after the restore of a server has been assumed.
                    let restarted =
                        self.ordered && self.progress.as_ref().is_some_and(|progress| version < *progress);
                    out.is_full =
                        !out.change(&store, |change| self.finish(relist, &version, restarted, change));
                    if out.is_full {
                        continue;
                    }
                    self.progress = Some(version.clone());
                    out.progress = Some(version);
                    out.relisted = true;
                    out.first_sync |= !std::mem::replace(&mut self.synced, true);
                }
                Effect::Put(found) => match &mut self.relist {
                    Some(relist) => {
                        let there = store.there(&found.key);
                        out.changed.displaced.extend(relist.put(found, there));
                    }
                    None => out.is_full = !out.change(&store, |change| self.put(found, change)),
                },
                Effect::Remove(found, kind) => match &mut self.relist {
                    Some(relist) => relist.remove(found, kind),
                    None => out.change(&store, |change| self.remove(found, kind, change)),
                },
                Effect::Unreadable(unreadable) => {
                    out.unreadable += 1;
                    match &mut self.relist {
                        Some(relist) => out.changed.displaced.extend(relist.unreadable(unreadable)),
                        None => out.change(&store, |change| self.mark_unreadable(unreadable, change)),
                    }
                }
            }
        }
        out.late = self.late - late;
        // Also changes that a watch sent in the same batch: one more run is the safe choice.
        if out.relisted || self.partial.is_some() {
            out.steps = Steps::LISTED;
        }
        out
    }

    fn put(&mut self, found: SourceObject<Arc<T>>, change: &mut impl StoreTransaction<T>) -> bool {
        if !self.unreadable.is_empty() {
            self.unreadable.remove(&found.key);
        }
        // A partial relist may list the cached version, which is then not late.
        let is_first = self.partial.as_mut().is_some_and(|partial| partial.mark_listed(&found.key));
        let is_listed = self.partial.is_some() && !is_first;
        let is_late = |there: &&Arc<T>| {
            // Versions from before a restore have no order: only equality is meaningful.
            let predates_restore = || !is_listed && change.predates_restore(&found.key);
            self.is_late(there, &found) && (is_same(there, &found) || !predates_restore())
        };
        if let Some(there) = change.get(&found.key).filter(is_late) {
            self.late += u64::from(!(is_first && is_same(there, &found)));
            change.displace(found.object);
            true
        } else {
            let pending_deletes = self.pending_deletes(&found.key, change);
            change.put(found, !self.synced, pending_deletes)
        }
    }

    /// Number of cached objects that the partial relist deletes unless they are listed again.
    /// Computed only if there is no capacity without them.
    fn pending_deletes(&mut self, key: &ObjectKey, change: &impl StoreTransaction<T>) -> usize {
        match &mut self.partial {
            Some(partial) if change.capacity_without(&[]) == 0 && change.is_new(key) => {
                partial.not_listed(|seen| self.store.keys_not_in(seen))
            }
            _ => 0,
        }
    }

    fn remove(
        &mut self,
        found: SourceObject<Arc<T>>,
        kind: RemovalKind,
        change: &mut impl StoreTransaction<T>,
    ) {
        change.displace(found.object.clone());
        self.unreadable.remove(&found.key);
        let Some(there) = change.get(&found.key) else { return };
        // A deletion may have the version of the last state. A `Left` event has the version of the
        // state that left: if the cache has that version the object came back since, and the event
        // is a repetition.
        let may_be_as_it_was = kind == RemovalKind::Deleted || !self.ordered;
        let is_late = self.is_late(there, &found) && !(may_be_as_it_was && is_same(there, &found));
        if is_late && !self.predates_restore(&found.key, change) {
            self.late += 1;
            return;
        }
        let removal = match kind {
            RemovalKind::Deleted => Removal::Deleted { final_state_known: true },
            RemovalKind::Left => Removal::Left(LeaveReason::Changed),
        };
        self.partial.iter_mut().for_each(|partial| partial.mark_removed(&found.key));
        change.remove(&found.key, found.version.as_ref(), Some(found.object), removal);
    }

    fn mark_unreadable(&mut self, unreadable: Unreadable, change: &mut impl StoreTransaction<T>) {
        if unreadable.is_gone {
            let there = change.get(&unreadable.key).and_then(|there| there.version());
            // The name belongs to a later object by now.
            if self.ordered
                && there.zip(unreadable.version.as_ref()).is_some_and(|(there, gone)| there > *gone)
                && !self.predates_restore(&unreadable.key, change)
            {
                self.late += 1;
                return;
            }
            self.unreadable.remove(&unreadable.key);
            // The final state cannot be decoded, so handlers receive the last readable one.
            let removal = Removal::Deleted { final_state_known: false };
            self.partial.iter_mut().for_each(|partial| partial.mark_removed(&unreadable.key));
            change.remove(&unreadable.key, unreadable.version.as_ref(), None, removal);
            return;
        }
        // Listed, though unreadable: the cached state must not be deleted as missing.
        if let Some(partial) = &mut self.partial {
            partial.mark_listed(&unreadable.key);
        }
        if self.unreadable.len() < UNREADABLE || self.unreadable.contains_key(&unreadable.key) {
            self.unreadable.insert(unreadable.key.clone(), unreadable);
        }
    }

    /// Replaces the cached objects by those of a relist. Deletions come first, to make room.
    ///
    /// If versions were restarted, objects that were not listed are not compared by version.
    /// Returns false, and changes nothing, if the listed objects exceed the capacity.
    fn finish(
        &mut self,
        relist: Relist<T>,
        at: &ResourceVersion,
        restarted: bool,
        change: &mut impl StoreTransaction<T>,
    ) -> bool {
        let Relist { seen, fresh, unreadable } = relist;
        let others = self.store.keys_not_in(&seen);
        // Before the first change, because the transaction is committed in any case.
        if !fits(&fresh, &others, change) {
            fresh.into_iter().for_each(|fresh| change.displace(fresh.into_object()));
            return false;
        }
        if restarted {
            change.versions_restarted();
        }
        if self.store.len() == 0 {
            change.start_bulk_load(fresh.len());
        }
        for key in others {
            change.remove(&key, None, None, Removal::Deleted { final_state_known: false });
        }
        drop(seen);
        for fresh in fresh {
            match fresh {
                // A list may contain an object twice.
                RelistChange::Put(found)
                    if change.get(&found.key).is_some_and(|there| is_same(there, &found)) =>
                {
                    change.displace(found.object);
                }
                RelistChange::Put(found) => {
                    change.put(found, !self.synced, 0);
                }
                RelistChange::Remove(found, kind) => self.remove(found, kind, change),
            }
        }
        unreadable.keys().for_each(|key| self.remove_if_predates_restore(key, at, change));
        self.unreadable = unreadable;
        true
    }

    /// Completes a partial relist: deletes the objects of its keys that were not listed.
    fn finish_some(&self, seen: &ListedKeys, change: &mut impl StoreTransaction<T>) {
        for key in self.store.keys_not_in(seen) {
            change.remove(&key, None, None, Removal::Deleted { final_state_known: false });
        }
        if let Some(at) = &self.progress {
            let lost = self.unreadable.keys().filter(|key| seen.contains(*key));
            let lost: Vec<_> = lost.filter(|key| change.predates_restore(key)).collect();
            lost.into_iter().for_each(|key| self.remove_if_predates_restore(key, at, change));
        }
        // Last: from here on the keys count as listed since the restore.
        change.relist_complete();
    }

    /// Removes an unreadable object with a cached version newer than the restored source's: that
    /// version no longer exists.
    fn remove_if_predates_restore(
        &self,
        key: &ObjectKey,
        at: &ResourceVersion,
        change: &mut impl StoreTransaction<T>,
    ) {
        let there = change.get(key).and_then(|there| there.version());
        if self.ordered && there.is_some_and(|there| there > *at) {
            change.remove(key, None, None, Removal::Deleted { final_state_known: false });
        }
    }

    /// Returns whether the cached object predates a restore of the source and was not listed since;
    /// its version cannot be compared.
    fn predates_restore(&self, key: &ObjectKey, change: &impl StoreTransaction<T>) -> bool {
        !self.partial.as_ref().is_some_and(|partial| partial.contains(key)) && change.predates_restore(key)
    }

    /// Returns whether the cache has this version or a later one.
    fn is_late(&self, there: &Arc<T>, found: &SourceObject<Arc<T>>) -> bool {
        match (there.version(), &found.version) {
            (Some(there), Some(found)) if self.ordered => there >= *found,
            // Without an order only a repetition can be detected.
            (Some(there), Some(found)) => there == *found,
            _ => false,
        }
    }
}

impl<N, T> Outcome<N, T> {
    fn change<'a, S: ObjectStore<T, Name = N>, R>(
        &mut self,
        store: &'a S,
        make: impl FnOnce(&mut S::Transaction<'a>) -> R,
    ) -> R {
        let mut change = store.change(std::mem::take(&mut self.changed));
        let made = make(&mut change);
        self.changed = change.commit();
        made
    }
}

/// Returns whether the new objects fit once the others are deleted.
fn fits<T>(fresh: &[RelistChange<T>], others: &[ObjectKey], change: &impl StoreTransaction<T>) -> bool {
    let capacity = change.capacity_without(others);
    if fresh.len() <= capacity {
        return true;
    }
    let puts = fresh.iter().filter(|fresh| matches!(fresh, RelistChange::Put(_)));
    let new: BTreeSet<&ObjectKey> = puts.map(RelistChange::key).filter(|key| change.is_new(key)).collect();
    new.len() <= capacity
}

fn object_of<T>(effect: Effect<T>) -> Option<T> {
    match effect {
        Effect::Put(found) | Effect::Remove(found, _) => Some(found.object),
        _ => None,
    }
}

impl<N, T> Default for Outcome<N, T> {
    fn default() -> Self {
        Self {
            changed: AppliedChanges::default(),
            progress: None,
            relisted: false,
            steps: Steps::ONE,
            first_sync: false,
            errors: Vec::new(),
            recovered: false,
            is_full: false,
            late: 0,
            unreadable: 0,
        }
    }
}
