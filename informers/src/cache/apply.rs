//! What a reflector says, as changes of the map that are seen together, and as what there is to tell of them.

use std::collections::BTreeMap;
use std::sync::Arc;

use foldhash::fast::FixedState;
use machinery_objects::{Departure, Object, ObjectKey, ResourceVersion, Unreadable};
use machinery_snapshot::{Map, Writer};

use super::renewal::{Fresh, Renewal, is_same};
use crate::deliver::{Change, Gone, News};
use crate::reflect::{Effect, Found, Trouble, Went};

/// The side that writes. Readers have the map.
pub(crate) struct Cache<T> {
    map: Arc<Map<ObjectKey, Arc<T>>>,
    seed: FixedState,
    /// Whether a version that is not greater is not later.
    ordered: bool,
    renewal: Option<Renewal<T>>,
    synced: bool,
    unreadable: BTreeMap<ObjectKey, Unreadable>,
    /// Changes that came after those that they came before.
    late: u64,
    /// Whether anybody is to be told of objects.
    tells: bool,
}

/// What there is to tell once the changes can be seen: first of objects, then of the cache.
#[derive(Debug)]
pub(crate) struct Outcome<T> {
    pub(crate) news: Vec<News<ObjectKey, Arc<T>>>,
    /// What was there before, and nobody is told of: to be dropped where nothing is locked.
    pub(crate) displaced: Vec<Arc<T>>,
    /// It shows everything up to this version.
    pub(crate) reached: Option<ResourceVersion>,
    /// It has become whole, anew or for the first time.
    pub(crate) whole: bool,
    pub(crate) first: bool,
    /// What went wrong, and whether all is well after that.
    pub(crate) troubles: Vec<Trouble>,
    pub(crate) well: bool,
}

/// So many objects that cannot be read are known by name.
const UNREADABLE: usize = 1000;

impl<T> Default for Outcome<T> {
    fn default() -> Self {
        Self {
            news: Vec::new(),
            displaced: Vec::new(),
            reached: None,
            whole: false,
            first: false,
            troubles: Vec::new(),
            well: false,
        }
    }
}

impl<T: Object> Cache<T> {
    pub(crate) fn new(map: Arc<Map<ObjectKey, Arc<T>>>, seed: u64, ordered: bool) -> Self {
        Self {
            map,
            seed: FixedState::with_seed(seed),
            ordered,
            renewal: None,
            synced: false,
            unreadable: BTreeMap::new(),
            late: 0,
            tells: true,
        }
    }

    /// Objects that cannot be read, the first thousand of them.
    pub(crate) const fn unreadable(&self) -> &BTreeMap<ObjectKey, Unreadable> {
        &self.unreadable
    }

    pub(crate) const fn late(&self) -> u64 {
        self.late
    }

    /// Makes the changes, to be seen together, and says what there is to tell once they are; if nobody listens, nothing of
    /// objects.
    pub(crate) fn apply(&mut self, effects: &mut Vec<Effect<Arc<T>>>, somebody_listens: bool) -> Outcome<T> {
        self.tells = somebody_listens;
        let mut out = Outcome::default();
        let map = self.map.clone();
        let mut writer = None;
        for effect in effects.drain(..) {
            self.one(effect, &map, &mut writer, &mut out);
        }
        if let Some(writer) = writer {
            writer.commit();
        }
        out
    }

    fn one<'m>(
        &mut self,
        effect: Effect<Arc<T>>,
        map: &'m Map<ObjectKey, Arc<T>>,
        writer: &mut Option<Writer<'m, ObjectKey, Arc<T>>>,
        out: &mut Outcome<T>,
    ) {
        match effect {
            Effect::Begin => self.renewal = Some(Renewal::new(self.seed.clone(), map.len())),
            Effect::Abandon => self.renewal = None,
            Effect::Troubled(trouble) => {
                out.well = false;
                out.troubles.push(trouble);
            }
            Effect::Well => out.well = true,
            Effect::Reached(version) => out.reached = Some(version),
            Effect::Finish(version) => {
                let Some(renewal) = self.renewal.take() else { return };
                // What changed before is compared with, too.
                writer.take().map(Writer::commit).unwrap_or_default();
                self.finish(renewal, writer.get_or_insert_with(|| map.write()), out);
                out.reached = Some(version);
                out.whole = true;
                out.first |= !std::mem::replace(&mut self.synced, true);
            }
            Effect::Put(found) => match &mut self.renewal {
                Some(renewal) => {
                    let snapshot = map.snapshot();
                    let there = snapshot.entry(&found.key);
                    renewal.put(found, there);
                }
                None => self.put(found, writer.get_or_insert_with(|| map.write()), out),
            },
            Effect::Remove(found, went) => match &mut self.renewal {
                Some(renewal) => renewal.remove(found, went),
                None => self.remove(found, went, writer.get_or_insert_with(|| map.write()), out),
            },
            Effect::Unreadable(unreadable) => match &mut self.renewal {
                Some(renewal) => renewal.unreadable(unreadable),
                None => self.cannot_read(unreadable, writer.get_or_insert_with(|| map.write()), out),
            },
        }
    }

    fn put(
        &mut self,
        found: Found<Arc<T>>,
        writer: &mut Writer<'_, ObjectKey, Arc<T>>,
        out: &mut Outcome<T>,
    ) {
        if !self.unreadable.is_empty() {
            self.unreadable.remove(&found.key);
        }
        if writer.get(&found.key).is_some_and(|there| self.is_late(there, &found)) {
            self.late += 1;
            return;
        }
        self.take(found, writer, out);
    }

    fn take(&self, found: Found<Arc<T>>, writer: &mut Writer<'_, ObjectKey, Arc<T>>, out: &mut Outcome<T>) {
        let Found { key, object, .. } = found;
        let before = writer.insert(key.clone(), object.clone());
        if self.tells {
            let change = Change::Now { object, initial: !self.synced };
            out.news.push(News { key, before, change });
        } else {
            out.displaced.extend(before);
        }
    }

    fn remove(
        &mut self,
        found: Found<Arc<T>>,
        went: Went,
        writer: &mut Writer<'_, ObjectKey, Arc<T>>,
        out: &mut Outcome<T>,
    ) {
        self.unreadable.remove(&found.key);
        let Some(there) = writer.get(&found.key) else { return };
        // The end of an object may have the version of its last state.
        if self.is_late(there, &found) && !is_same(there, &found) {
            self.late += 1;
            return;
        }
        let Some(before) = writer.remove(&found.key) else { return };
        let why = match went {
            Went::Deleted => Gone::Deleted { final_state_known: true },
            Went::Left => Gone::Left(Departure::Changed),
        };
        if self.tells {
            let change = Change::Gone { last: found.object, why };
            out.news.push(News { key: found.key, before: Some(before), change });
        } else {
            out.displaced.push(before);
        }
    }

    fn cannot_read(
        &mut self,
        unreadable: Unreadable,
        writer: &mut Writer<'_, ObjectKey, Arc<T>>,
        out: &mut Outcome<T>,
    ) {
        if unreadable.is_gone {
            self.unreadable.remove(&unreadable.key);
            self.vanish(&unreadable.key, writer, out);
        } else if self.unreadable.len() < UNREADABLE || self.unreadable.contains_key(&unreadable.key) {
            self.unreadable.insert(unreadable.key.clone(), unreadable);
        }
    }

    /// What has vanished goes first: what came may have its place.
    fn finish(
        &mut self,
        renewal: Renewal<T>,
        writer: &mut Writer<'_, ObjectKey, Arc<T>>,
        out: &mut Outcome<T>,
    ) {
        let Renewal { seen, fresh, unreadable } = renewal;
        // With nothing there all of it is indexed at once.
        if writer.is_empty() {
            writer.reserve(fresh.len());
            writer.index_last();
        } else {
            let snapshot = self.map.snapshot();
            for (key, _) in snapshot.iter().filter(|(key, _)| !seen.contains(*key)) {
                self.vanish(key, writer, out);
            }
        }
        drop(seen);
        for fresh in fresh {
            match fresh {
                Fresh::Put(found) => self.take(found, writer, out),
                Fresh::Remove(found, went) => self.remove(found, went, writer, out),
            }
        }
        self.unreadable = unreadable
            .into_iter()
            .filter(|unreadable| !unreadable.is_gone)
            .take(UNREADABLE)
            .map(|unreadable| (unreadable.key.clone(), unreadable))
            .collect();
    }

    /// Whether the cache has this already, or what came after it.
    fn is_late(&self, there: &Arc<T>, found: &Found<Arc<T>>) -> bool {
        match (there.version(), &found.version) {
            (Some(there), Some(found)) if self.ordered => there >= *found,
            (Some(there), Some(found)) => there == *found,
            _ => false,
        }
    }

    /// It is not there any more, and nobody said how it was in the end.
    fn vanish(&self, key: &ObjectKey, writer: &mut Writer<'_, ObjectKey, Arc<T>>, out: &mut Outcome<T>) {
        let Some(last) = writer.remove(key) else { return };
        if self.tells {
            let change = Change::Gone { last: last.clone(), why: Gone::Deleted { final_state_known: false } };
            out.news.push(News { key: key.clone(), before: Some(last), change });
        } else {
            out.displaced.push(last);
        }
    }
}
