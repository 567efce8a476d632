//! What a reflector says, as changes of a shelf, and as what there is to tell of them.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use foldhash::fast::FixedState;
use machinery_objects::{Departure, Object, ObjectKey, ResourceVersion, Unreadable};

use super::part::Part;
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
    some: Option<Part>,
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
    /// There was no room for what came, and it was left out with all after it.
    pub(crate) is_full: bool,
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
            if out.is_full {
                out.changed.displaced.extend(object_of(effect));
                continue;
            }
            match effect {
                Effect::Begin => self.renewal = Some(Renewal::new(self.seed.clone(), shelf.len())),
                Effect::BeginSome => self.some = Some(Part::new(self.seed.clone())),
                Effect::FinishSome => {
                    let Some(Part { seen, .. }) = self.some.take() else { continue };
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
                    out.is_full = !out.change(&shelf, |change| self.finish(renewal, &version, anew, change));
                    if out.is_full {
                        continue;
                    }
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
                    None => out.is_full = !out.change(&shelf, |change| self.put(found, change)),
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

    fn put(&mut self, found: Found<Arc<T>>, change: &mut impl Change<T>) -> bool {
        if !self.unreadable.is_empty() {
            self.unreadable.remove(&found.key);
        }
        // What comes anew may be what is there.
        let anew = self.some.as_mut().is_some_and(|some| some.comes(&found.key));
        let has_come = self.some.is_some() && !anew;
        let is_late = |there: &&Arc<T>| {
            let is_lost = || !has_come && change.is_lost(&found.key);
            self.is_late(there, &found) && (is_same(there, &found) || !is_lost())
        };
        if let Some(there) = change.get(&found.key).filter(is_late) {
            self.late += u64::from(!(anew && is_same(there, &found)));
            change.displace(found.object);
            true
        } else {
            let going = self.going(&found.key, change);
            change.put(found, !self.synced, going)
        }
    }

    /// How many go when what comes anew has come. Where there is room without that, nobody asks.
    fn going(&mut self, key: &ObjectKey, change: &impl Change<T>) -> usize {
        match &mut self.some {
            Some(some) if change.room_without(&[]) == 0 && change.is_more(key) => {
                some.unseen(|seen| self.shelf.others(seen))
            }
            _ => 0,
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
        self.some.iter_mut().for_each(|some| some.goes(&found.key));
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
            self.some.iter_mut().for_each(|some| some.goes(&unreadable.key));
            change.remove(&unreadable.key, unreadable.version.as_ref(), None, why);
            return;
        }
        if let Some(some) = &mut self.some {
            some.comes(&unreadable.key);
        }
        if self.unreadable.len() < UNREADABLE || self.unreadable.contains_key(&unreadable.key) {
            self.unreadable.insert(unreadable.key.clone(), unreadable);
        }
    }

    /// What has vanished goes first: what came may have its place. Where versions have begun anew nothing that did not come now can be
    /// compared by them. False: there is no room for all of it, and nothing is changed.
    fn finish(
        &mut self,
        renewal: Renewal<T>,
        at: &ResourceVersion,
        anew: bool,
        change: &mut impl Change<T>,
    ) -> bool {
        let Renewal { seen, fresh, unreadable } = renewal;
        let others = self.shelf.others(&seen);
        if !fits(&fresh, &others, change) {
            fresh.into_iter().for_each(|fresh| change.displace(fresh.into_object()));
            return false;
        }
        if anew {
            change.begins_anew();
        }
        if self.shelf.len() == 0 {
            change.load(fresh.len());
        }
        for key in others {
            change.remove(&key, None, None, Gone::Deleted { final_state_known: false });
        }
        drop(seen);
        for fresh in fresh {
            match fresh {
                // A list may show one twice.
                Fresh::Put(found) if change.get(&found.key).is_some_and(|there| is_same(there, &found)) => {
                    change.displace(found.object);
                }
                Fresh::Put(found) => {
                    change.put(found, !self.synced, 0);
                }
                Fresh::Remove(found, went) => self.remove(found, went, change),
            }
        }
        unreadable.keys().for_each(|key| self.remove_if_never(key, at, change));
        self.unreadable = unreadable;
        true
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
        !self.some.as_ref().is_some_and(|some| some.has(key)) && change.is_lost(key)
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
    fn change<'a, S: Shelf<T, Name = N>, R>(
        &mut self,
        shelf: &'a S,
        make: impl FnOnce(&mut S::Change<'a>) -> R,
    ) -> R {
        let mut change = shelf.change(std::mem::take(&mut self.changed));
        let made = make(&mut change);
        self.changed = change.commit();
        made
    }
}

/// Whether there is room for what is new when others have gone.
fn fits<T>(fresh: &[Fresh<T>], others: &[ObjectKey], change: &impl Change<T>) -> bool {
    let room = change.room_without(others);
    if fresh.len() <= room {
        return true;
    }
    let puts = fresh.iter().filter(|fresh| matches!(fresh, Fresh::Put(_)));
    let new: BTreeSet<&ObjectKey> = puts.map(Fresh::key).filter(|key| change.is_more(key)).collect();
    new.len() <= room
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
            changed: Changed::default(),
            reached: None,
            whole: false,
            first: false,
            troubles: Vec::new(),
            well: false,
            is_full: false,
            late: 0,
            unreadable: 0,
        }
    }
}
