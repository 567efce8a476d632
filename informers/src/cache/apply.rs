//! What a reflector says, as changes of a shelf, and as what there is to tell of them.

use std::collections::BTreeMap;
use std::sync::Arc;

use foldhash::fast::FixedState;
use machinery_objects::{Departure, Object, ObjectKey, ResourceVersion, Unreadable};

use super::renewal::{Fresh, Renewal, UNREADABLE, is_same};
use super::shelf::{Change, Changed, Seen, Shelf};
use crate::deliver::Gone;
use crate::reflect::{Effect, Found, Trouble, Went};

/// The side that writes. Readers have the shelf.
pub(crate) struct Cache<T, S> {
    shelf: S,
    seed: FixedState,
    /// Whether a version that is not greater is not later.
    ordered: bool,
    renewal: Option<Renewal<T>>,
    /// What has come since some of it began to come anew.
    some: Option<Seen>,
    /// How far it is.
    reached: Option<ResourceVersion>,
    synced: bool,
    unreadable: BTreeMap<ObjectKey, Unreadable>,
    /// Changes that came after those that they came before.
    late: u64,
}

/// What there is to tell once the changes can be seen: first of objects, then of the cache.
#[derive(Debug)]
pub(crate) struct Outcome<N, T> {
    pub(crate) changed: Changed<N, T>,
    /// It shows everything up to this version.
    pub(crate) reached: Option<ResourceVersion>,
    /// It has become whole, anew or for the first time.
    pub(crate) whole: bool,
    pub(crate) first: bool,
    /// What went wrong, and whether all is well after that.
    pub(crate) troubles: Vec<Trouble>,
    pub(crate) well: bool,
    /// How many changes came after those that they came before, and how many objects cannot be read.
    pub(crate) late: u64,
    pub(crate) unreadable: u64,
}

impl<T: Object, S: Shelf<T>> Cache<T, S> {
    pub(crate) fn new(shelf: S, seed: u64, ordered: bool) -> Self {
        Self {
            shelf,
            seed: FixedState::with_seed(seed),
            ordered,
            renewal: None,
            some: None,
            reached: None,
            synced: false,
            unreadable: BTreeMap::new(),
            late: 0,
        }
    }

    /// Objects that cannot be read, the first thousand of them.
    pub(crate) const fn unreadable(&self) -> &BTreeMap<ObjectKey, Unreadable> {
        &self.unreadable
    }

    /// Whether all of it is coming anew.
    pub(crate) const fn is_renewing(&self) -> bool {
        self.renewal.is_some()
    }

    pub(crate) const fn late(&self) -> u64 {
        self.late
    }

    /// Makes the changes and says what there is to tell; if nobody listens, nothing of objects. A renewal is seen whole, and each
    /// other change by itself: what changes one entry is made in place.
    pub(crate) fn apply(
        &mut self,
        effects: &mut Vec<Effect<Arc<T>>>,
        somebody_listens: bool,
    ) -> Outcome<S::Name, T> {
        let mut out = Outcome::default();
        out.changed.is_heard = somebody_listens;
        let late = self.late;
        let shelf = self.shelf.clone();
        for effect in effects.drain(..) {
            match effect {
                Effect::Begin => self.renewal = Some(Renewal::new(self.seed.clone(), shelf.len())),
                Effect::BeginSome => self.some = Some(Seen::with_hasher(self.seed.clone())),
                Effect::FinishSome => {
                    let Some(seen) = self.some.take() else { continue };
                    out.change(&shelf, |change| self.finish_some(&seen, change));
                }
                Effect::Abandon => {
                    self.some = None;
                    out.changed
                        .displaced
                        .extend(self.renewal.take().into_iter().flat_map(Renewal::into_objects));
                }
                Effect::Troubled(trouble) => {
                    out.well = false;
                    out.troubles.push(trouble);
                }
                Effect::Late => self.late += 1,
                Effect::Well => out.well = true,
                Effect::Reached(version) => {
                    self.reached = Some(version.clone());
                    out.reached = Some(version);
                }
                Effect::Finish(version) => {
                    let Some(renewal) = self.renewal.take() else { continue };
                    // Only a server that was restored is believed to have gone back.
                    let anew =
                        self.ordered && self.reached.as_ref().is_some_and(|reached| version < *reached);
                    out.change(&shelf, |change| self.finish(renewal, &version, anew, change));
                    self.reached = Some(version.clone());
                    out.reached = Some(version);
                    out.whole = true;
                    out.first |= !std::mem::replace(&mut self.synced, true);
                }
                Effect::Put(found) => match &mut self.renewal {
                    Some(renewal) => {
                        let there = shelf.there(&found.key);
                        out.changed.displaced.extend(renewal.put(found, there));
                    }
                    None => out.change(&shelf, |change| self.put(found, change)),
                },
                Effect::Remove(found, went) => match &mut self.renewal {
                    Some(renewal) => renewal.remove(found, went),
                    None => out.change(&shelf, |change| self.remove(found, went, change)),
                },
                Effect::Unreadable(unreadable) => {
                    out.unreadable += 1;
                    match &mut self.renewal {
                        Some(renewal) => out.changed.displaced.extend(renewal.unreadable(unreadable)),
                        None => out.change(&shelf, |change| self.cannot_read(unreadable, change)),
                    }
                }
            }
        }
        out.late = self.late - late;
        out
    }

    fn put(&mut self, found: Found<Arc<T>>, change: &mut impl Change<T>) {
        if !self.unreadable.is_empty() {
            self.unreadable.remove(&found.key);
        }
        // What comes anew may be what is there.
        let anew = self.some.as_mut().is_some_and(|seen| seen.insert(found.key.clone()));
        let has_come = self.some.is_some() && !anew;
        let is_late = |there: &&Arc<T>| {
            let is_lost = || !has_come && change.is_lost(&found.key);
            self.is_late(there, &found) && (is_same(there, &found) || !is_lost())
        };
        if let Some(there) = change.get(&found.key).filter(is_late) {
            self.late += u64::from(!(anew && is_same(there, &found)));
            change.displace(found.object);
        } else {
            change.put(found, !self.synced);
        }
    }

    fn remove(&mut self, found: Found<Arc<T>>, went: Went, change: &mut impl Change<T>) {
        change.displace(found.object.clone());
        self.unreadable.remove(&found.key);
        let Some(there) = change.get(&found.key) else { return };
        // The end of an object may have the version of its last state. That it is no longer selected has that of the state in which
        // it is not: what is here in that version has come back, and this is told again.
        let may_be_as_it_was = went == Went::Deleted || !self.ordered;
        let is_late = self.is_late(there, &found) && !(may_be_as_it_was && is_same(there, &found));
        if is_late && !self.is_lost(&found.key, change) {
            self.late += 1;
            return;
        }
        let why = match went {
            Went::Deleted => Gone::Deleted { final_state_known: true },
            Went::Left => Gone::Left(Departure::Changed),
        };
        change.remove(&found.key, found.version.as_ref(), Some(found.object), why);
    }

    fn cannot_read(&mut self, unreadable: Unreadable, change: &mut impl Change<T>) {
        if unreadable.is_gone {
            let there = change.get(&unreadable.key).and_then(|there| there.version());
            // Another has its name by now.
            if self.ordered
                && there.zip(unreadable.version.as_ref()).is_some_and(|(there, gone)| there > *gone)
                && !self.is_lost(&unreadable.key, change)
            {
                self.late += 1;
                return;
            }
            self.unreadable.remove(&unreadable.key);
            let why = Gone::Deleted { final_state_known: false };
            change.remove(&unreadable.key, unreadable.version.as_ref(), None, why);
            return;
        }
        if let Some(seen) = &mut self.some {
            seen.insert(unreadable.key.clone());
        }
        if self.unreadable.len() < UNREADABLE || self.unreadable.contains_key(&unreadable.key) {
            self.unreadable.insert(unreadable.key.clone(), unreadable);
        }
    }

    /// What has vanished goes first: what came may have its place. Where versions have begun anew nothing that did not come now can be
    /// compared by them.
    fn finish(&mut self, renewal: Renewal<T>, at: &ResourceVersion, anew: bool, change: &mut impl Change<T>) {
        if anew {
            change.begins_anew();
        }
        let Renewal { seen, fresh, unreadable } = renewal;
        if self.shelf.len() == 0 {
            change.load(fresh.len());
        }
        for key in self.shelf.others(&seen) {
            change.remove(&key, None, None, Gone::Deleted { final_state_known: false });
        }
        drop(seen);
        for fresh in fresh {
            match fresh {
                // A list may show one twice.
                Fresh::Put(found) if change.get(&found.key).is_some_and(|there| is_same(there, &found)) => {
                    change.displace(found.object);
                }
                Fresh::Put(found) => change.put(found, !self.synced),
                Fresh::Remove(found, went) => self.remove(found, went, change),
            }
        }
        unreadable.keys().for_each(|key| self.remove_if_never(key, at, change));
        self.unreadable = unreadable;
    }

    /// All has come of what is renewed.
    fn finish_some(&self, seen: &Seen, change: &mut impl Change<T>) {
        for key in self.shelf.others(seen) {
            change.remove(&key, None, None, Gone::Deleted { final_state_known: false });
        }
        if let Some(at) = &self.reached {
            let lost = self.unreadable.keys().filter(|key| seen.contains(*key));
            let lost: Vec<_> = lost.filter(|key| change.is_lost(key)).collect();
            lost.into_iter().for_each(|key| self.remove_if_never(key, at, change));
        }
        change.all_came();
    }

    /// In a source that was restored what cannot be read never was what it is here.
    fn remove_if_never(&self, key: &ObjectKey, at: &ResourceVersion, change: &mut impl Change<T>) {
        let there = change.get(key).and_then(|there| there.version());
        if self.ordered && there.is_some_and(|there| there > *at) {
            change.remove(key, None, None, Gone::Deleted { final_state_known: false });
        }
    }

    /// Whether what is there is of a time that never was, and cannot be compared by versions: it is until it has come anew.
    fn is_lost(&self, key: &ObjectKey, change: &impl Change<T>) -> bool {
        !self.some.as_ref().is_some_and(|seen| seen.contains(key)) && change.is_lost(key)
    }

    /// Whether the cache has this already, or what came after it.
    fn is_late(&self, there: &Arc<T>, found: &Found<Arc<T>>) -> bool {
        match (there.version(), &found.version) {
            (Some(there), Some(found)) if self.ordered => there >= *found,
            (Some(there), Some(found)) => there == *found,
            _ => false,
        }
    }
}

impl<N, T> Outcome<N, T> {
    fn change<'a, S: Shelf<T, Name = N>>(&mut self, shelf: &'a S, make: impl FnOnce(&mut S::Change<'a>)) {
        let mut change = shelf.change(std::mem::take(&mut self.changed));
        make(&mut change);
        self.changed = change.commit();
    }
}

impl<N, T> Default for Outcome<N, T> {
    fn default() -> Self {
        Self {
            changed: Changed::default(),
            reached: None,
            whole: false,
            first: false,
            troubles: Vec::new(),
            well: false,
            late: 0,
            unreadable: 0,
        }
    }
}
