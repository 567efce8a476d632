//! Where a stream keeps its objects: among the names, under its key, or under the key that each says.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use machinery_objects::{Departure, ObjectKey, ResourceVersion, Revision};
use machinery_sync::Mutex;

use super::editor::Order;
use super::holdings::{Holdings, Name};
use super::wanted::Tenure;
use crate::cache::{Change, Changed, Seen, Shelf};
use crate::deliver::{Change as What, Gone, News};
use crate::lookup::Change as Names;
use crate::reflect::Found;

/// What a key may be.
pub trait Key: Ord + Clone + std::hash::Hash + Send + Sync + 'static {}

impl<F: Ord + Clone + std::hash::Hash + Send + Sync + 'static> Key for F {}

/// Which key an object says that it is under.
pub(crate) type Find<F, T> = Arc<dyn Fn(&T) -> Option<F> + Send + Sync>;

/// Which key an object is under.
pub(crate) trait Under<F, T>: Clone {
    /// `None`: under none that is wanted.
    fn of(&self, object: &T) -> Option<F>;
    /// The only one, if there is only one.
    fn only(&self) -> Option<&F>;
    /// Those of which all comes anew.
    fn renewed(&self) -> Vec<F>;
    /// The source was restored: what is held under others than those is of a time that never was.
    fn begins_anew(&self) {}
    /// Whether what is held under this one is.
    fn is_lost(&self, _key: &F) -> bool {
        false
    }
    /// Those that are renewed have come.
    fn all_came(&self) {}
}

/// All are under this one.
#[derive(Clone)]
pub(crate) struct One<F>(pub(crate) F);

/// Each is under the one that it says, if that is asked for and still wanted.
pub(crate) struct Each<F, T> {
    pub(crate) holdings: Arc<Holdings<F, T>>,
    pub(crate) find: Find<F, T>,
    pub(crate) asked: Arc<Mutex<Asked<F>>>,
}

/// What the source was asked for.
pub(crate) struct Asked<F> {
    pub(crate) keys: BTreeMap<F, Tenure>,
    /// Those of them that it was asked for last: their state comes, or has come.
    pub(crate) renewed: Vec<F>,
    /// Those under which what is held is of a time that never was: the source was restored, and they have not come since.
    lost: BTreeSet<F>,
    /// How often something came for one of them that nobody wanted any more, since somebody looked.
    pub(crate) fenced: u64,
}

pub(crate) struct Shelved<F, T, U> {
    pub(crate) holdings: Arc<Holdings<F, T>>,
    pub(crate) under: U,
    pub(crate) ordered: bool,
    /// There are no more names than these, under all keys together.
    pub(crate) limit: usize,
}

pub(crate) struct ShelvedChange<'a, F, T, U> {
    names: Names<'a, F, Arc<T>>,
    under: U,
    ordered: bool,
    limit: usize,
    changed: Changed<Name<F>, T>,
    /// How each change of a name came about.
    hows: Vec<How<T>>,
}

enum How<T> {
    There { initial: bool },
    Gone { last: Option<Arc<T>>, why: Gone },
}

impl<F: Key, T> Under<F, T> for One<F> {
    fn of(&self, _: &T) -> Option<F> {
        Some(self.0.clone())
    }

    fn only(&self) -> Option<&F> {
        Some(&self.0)
    }

    fn renewed(&self) -> Vec<F> {
        vec![self.0.clone()]
    }
}

impl<F: Key, T: Send + Sync + 'static> Under<F, T> for Each<F, T> {
    fn of(&self, object: &T) -> Option<F> {
        let key = (self.find)(object)?;
        let asked = self.asked.lock().keys.get(&key).copied()?;
        if self.holdings.tenure(&key) == Some(asked) {
            return Some(key);
        }
        self.asked.lock().fenced += 1;
        None
    }

    fn only(&self) -> Option<&F> {
        None
    }

    fn renewed(&self) -> Vec<F> {
        self.asked.lock().renewed.clone()
    }

    fn begins_anew(&self) {
        let names = self.holdings.names.read();
        let mut held: BTreeSet<F> = BTreeSet::new();
        for (key, _, _) in names.iter() {
            if !held.contains(key) {
                held.insert(key.clone());
            }
        }
        let mut asked = self.asked.lock();
        for key in &asked.renewed {
            held.remove(key);
        }
        asked.lost = held;
    }

    fn is_lost(&self, key: &F) -> bool {
        self.asked.lock().lost.contains(key)
    }

    fn all_came(&self) {
        let asked = &mut *self.asked.lock();
        for key in &asked.renewed {
            asked.lost.remove(key);
        }
    }
}

impl<F: Key> Asked<F> {
    /// Others want these now, or nobody does: what was held under them has gone.
    pub(crate) fn want(&mut self, changed: &[(F, Option<Tenure>)]) {
        for (key, _) in changed {
            self.lost.remove(key);
        }
    }

    pub(crate) fn take(&mut self, order: &Order<F>) {
        match order {
            Order::Wait => {}
            Order::Open { keys, .. } => {
                self.keys.clone_from(keys);
                self.renewed = keys.keys().cloned().collect();
            }
            Order::Edit { remove, add } => {
                for key in remove {
                    self.keys.remove(key);
                }
                self.keys.extend(add.iter().map(|(key, tenure)| (key.clone(), *tenure)));
                self.renewed = add.keys().cloned().collect();
            }
        }
    }
}

impl<F> Default for Asked<F> {
    fn default() -> Self {
        Self { keys: BTreeMap::new(), renewed: Vec::new(), lost: BTreeSet::new(), fenced: 0 }
    }
}

impl<F, T, U: Clone> Clone for Shelved<F, T, U> {
    fn clone(&self) -> Self {
        let (holdings, under) = (self.holdings.clone(), self.under.clone());
        Self { holdings, under, ordered: self.ordered, limit: self.limit }
    }
}

impl<F, T> Clone for Each<F, T> {
    fn clone(&self) -> Self {
        Self { holdings: self.holdings.clone(), find: self.find.clone(), asked: self.asked.clone() }
    }
}

impl<F: Key, T: Send + Sync + 'static, U: Under<F, T>> Shelf<T> for Shelved<F, T, U> {
    type Name = Name<F>;
    type Change<'a>
        = ShelvedChange<'a, F, T, U>
    where
        U: 'a;

    fn len(&self) -> usize {
        let names = self.holdings.names.read();
        self.under.only().map_or_else(|| names.len(), |key| names.count(key))
    }

    fn there(&self, name: &ObjectKey) -> Option<(ObjectKey, Arc<T>)> {
        let held = self.holdings.names.held(name)?;
        let (_, object) = held.under(self.under.only())?;
        Some((name.clone(), object.clone()))
    }

    fn others(&self, seen: &Seen) -> Vec<ObjectKey> {
        let names = self.holdings.names.read();
        let is_other = |name: &&ObjectKey| !seen.contains(*name);
        let renewed = self.under.renewed();
        let under = renewed.iter().flat_map(|key| names.under(key));
        under.map(|(name, _)| name).filter(is_other).cloned().collect()
    }

    fn change(&self, changed: Changed<Name<F>, T>) -> ShelvedChange<'_, F, T, U> {
        let (names, under) = (self.holdings.names.change(), self.under.clone());
        ShelvedChange { names, under, ordered: self.ordered, limit: self.limit, changed, hows: Vec::new() }
    }
}

impl<F: Key, T: Send + Sync + 'static, U: Under<F, T>> ShelvedChange<'_, F, T, U> {
    fn revision(&self, version: Option<&ResourceVersion>) -> Option<Revision> {
        version.filter(|_| self.ordered)?.revision()
    }

    fn gone(&mut self, key: &F, name: &ObjectKey, at: Option<Revision>, last: Option<Arc<T>>, why: Gone) {
        self.names.remove(key, name, at);
        self.hows.push(How::Gone { last, why });
    }
}

impl<F: Key, T: Send + Sync + 'static, U: Under<F, T>> Change<T> for ShelvedChange<'_, F, T, U> {
    type Name = Name<F>;

    fn get(&self, name: &ObjectKey) -> Option<&Arc<T>> {
        self.names.under(name, self.under.only()).map(|(_, object)| object)
    }

    fn room_without(&self, gone: &[ObjectKey]) -> usize {
        let gone = gone.iter().filter(|name| self.names.holders(name) == 1).count();
        self.limit.saturating_sub(self.names.len() - gone)
    }

    fn is_more(&self, name: &ObjectKey) -> bool {
        self.names.holders(name) == 0
    }

    fn begins_anew(&mut self) {
        self.under.begins_anew();
        let hidden = self.names.begins_anew();
        self.hows.extend((0..hidden).map(|_| How::There { initial: false }));
    }

    fn is_lost(&self, name: &ObjectKey) -> bool {
        let under = self.names.under(name, self.under.only());
        under.is_some_and(|(key, _)| self.under.is_lost(key))
    }

    fn all_came(&mut self) {
        self.under.all_came();
    }

    fn put(&mut self, found: Found<Arc<T>>, initial: bool, going: usize) -> bool {
        let version = self.revision(found.version.as_ref());
        let key = self.under.of(&found.object);
        if key.is_some() && self.names.len() - going >= self.limit && self.is_more(&found.key) {
            self.changed.displaced.push(found.object);
            return false;
        }
        let before = self.names.under(&found.key, self.under.only()).map(|(key, _)| key.clone());
        // It goes from one key to another, or to none.
        if let Some(before) = before.filter(|before| Some(before) != key.as_ref()) {
            let last = key.is_none().then(|| found.object.clone());
            self.gone(&before, &found.key, version, last, Gone::Left(Departure::Changed));
        }
        if let Some(key) = key {
            self.names.put(&key, &found.key, found.object, version);
            self.hows.push(How::There { initial });
        } else {
            self.changed.displaced.push(found.object);
        }
        true
    }

    fn remove(&mut self, name: &ObjectKey, at: Option<&ResourceVersion>, last: Option<Arc<T>>, why: Gone) {
        let at = self.revision(at);
        if let Some(key) = self.names.under(name, self.under.only()).map(|(key, _)| key.clone()) {
            self.gone(&key, name, at, last, why);
        }
    }

    fn displace(&mut self, object: Arc<T>) {
        self.changed.displaced.push(object);
    }

    fn commit(self) -> Changed<Name<F>, T> {
        let Self { names, mut changed, hows, .. } = self;
        for (name, how) in names.commit().into_iter().zip(hows) {
            if !changed.is_heard {
                changed.displaced.extend(name.before);
                continue;
            }
            let change = match (how, name.after) {
                (How::There { initial }, Some(object)) => What::Now { object, initial },
                (How::Gone { last, why }, None) => {
                    let Some(last) = last.or_else(|| name.before.clone()) else { continue };
                    What::Gone { last, why }
                }
                _ => continue,
            };
            changed.news.push(News { key: (name.key, name.name), before: name.before, change });
        }
        changed
    }
}

#[cfg(all(test, feature = "testing"))]
mod tests {
    use std::time::Duration;

    use machinery_objects::{ObjectKey, Unreadable};

    use super::*;
    use crate::cache::Cache;
    use crate::lookup::Lookup;
    use crate::reflect::{Effect, Went};
    use crate::testing::Thing;

    fn found(version: u64) -> Effect<Arc<Thing>> {
        let version = Some(ResourceVersion::from(Revision(version)));
        let object = Arc::new(Thing { version: version.clone(), ..Thing::new("a") });
        Effect::Put(Found { key: object.key.clone(), version, object })
    }

    /// A stream of one key, whose list shows the object in this version, or does not.
    fn lists(
        cache: &mut Cache<Thing, Shelved<char, Thing, One<char>>>,
        shows: Option<u64>,
        at: u64,
    ) -> usize {
        let finish = Effect::Finish(Revision(at).into());
        let mut effects: Vec<_> =
            [Effect::Begin].into_iter().chain(shows.map(found)).chain([finish]).collect();
        cache.apply(&mut effects, true).changed.news.len()
    }

    #[test]
    fn that_an_object_has_left_is_no_end_of_it_as_it_is_since() {
        for (ordered, left, stays) in [(true, 9, true), (true, 10, false), (false, 9, false)] {
            let holdings = Arc::new(Holdings::<char, Thing>::new(1, 9, Duration::ZERO));
            let shelf = Shelved { holdings: holdings.clone(), under: One('x'), ordered, limit: 9 };
            let mut cache = Cache::new(shelf, 1, ordered);
            let gone = |version, went| {
                let Effect::Put(gone) = found(version) else { panic!("it is one") };
                Effect::Remove(gone, went)
            };
            cache.apply(&mut vec![Effect::Begin, found(9), Effect::Finish(Revision(9).into())], true);
            cache.apply(&mut vec![gone(left, Went::Left)], true);
            assert_eq!(
                (holdings.names.read().len(), cache.late()),
                (stays.into(), stays.into()),
                "{ordered}, {left}"
            );
            cache.apply(&mut vec![gone(9, Went::Deleted)], true);
            assert!(holdings.names.read().is_empty(), "an end may have the version of what was last");
        }
    }

    #[test]
    fn what_came_for_a_key_that_nobody_wants_any_more_is_counted() {
        let holdings = Arc::new(Holdings::<char, Thing>::new(1, 9, Duration::ZERO));
        let now = tokio::time::Instant::now().into_std();
        let tenure = holdings.acquire(&'x', now).unwrap();
        let asked = Arc::new(Mutex::new(Asked::default()));
        asked.lock().keys.insert('x', tenure);
        let under = Each { holdings: holdings.clone(), find: Arc::new(|_| Some('x')), asked: asked.clone() };
        let shelf = Shelved { holdings: holdings.clone(), under, ordered: true, limit: 9 };
        let mut cache = Cache::new(shelf, 1, true);
        cache.apply(&mut vec![found(5)], true);
        assert_eq!((holdings.names.read().len(), asked.lock().fenced), (1, 0));
        holdings.release(&'x', tenure, now);
        cache.apply(&mut vec![found(6)], true);
        assert_eq!((holdings.names.read().len(), asked.lock().fenced), (0, 1));
    }

    #[test]
    fn what_is_of_a_time_that_never_was_is_compared_with_nothing_until_it_comes_anew() {
        let holdings = Arc::new(Holdings::<char, Thing>::new(1, 9, Duration::ZERO));
        let now = tokio::time::Instant::now().into_std();
        let asked = Arc::new(Mutex::new(Asked::default()));
        let ask = |keys: &[char], renewed: char| {
            let tenure = |key: &char| (*key, holdings.tenure(key).unwrap());
            let mut asked = asked.lock();
            (asked.keys, asked.renewed) = (keys.iter().map(tenure).collect(), vec![renewed]);
        };
        for key in ['x', 'y'] {
            holdings.acquire(&key, now).unwrap();
        }
        ask(&['x', 'y'], 'x');
        let find = |thing: &Thing| thing.place.chars().next();
        let under = Each { holdings: holdings.clone(), find: Arc::new(find), asked: asked.clone() };
        let shelf = Shelved { holdings: holdings.clone(), under, ordered: true, limit: 9 };
        let mut cache = Cache::new(shelf, 1, true);
        let found = |name: &str, place: &str, version: u64| {
            let version = Some(ResourceVersion::from(Revision(version)));
            let object = Arc::new(Thing { version: version.clone(), ..Thing::new(name).at(place) });
            Found { key: object.key.clone(), version, object }
        };
        let put = |name: &str, place: &str, version| Effect::Put(found(name, place, version));
        let is = || {
            let names = holdings.names.read();
            let version = |thing: &Thing| thing.version.clone().unwrap();
            let mut all: Vec<_> =
                names.iter().map(|(key, name, thing)| format!("{name}@{key}{}", version(thing))).collect();
            all.sort();
            all.join(" ")
        };
        let unreadable = |name: &str| {
            let key = name.parse().unwrap();
            Effect::Unreadable(Unreadable { key, version: None, is_gone: false, reason: "no".into() })
        };
        let finish = |version: u64| Effect::Finish(Revision(version).into());
        let there = ["b", "c", "d", "e", "f"].map(|name| put(name, "y", 18));
        cache.apply(
            &mut [Effect::Begin, put("a", "x", 19)].into_iter().chain(there).chain([finish(19)]).collect(),
            true,
        );
        // Only x comes with the beginning of the new time. What is not there any more is told; of y nothing is, but for what is there.
        ask(&['x'], 'x');
        let told = cache.apply(&mut vec![Effect::Begin, put("f", "x", 4), finish(5)], true).changed.news;
        assert_eq!((told.len(), is().as_str()), (3, "b@y18 c@y18 d@y18 e@y18 f@x4"));
        // What comes to x from y is no change that is late.
        cache.apply(&mut vec![put("e", "x", 6)], true);
        assert_eq!((is().as_str(), cache.late()), ("b@y18 c@y18 d@y18 e@x6 f@x4", 0));
        // An edit that breaks off has shown some of it.
        ask(&['x', 'y'], 'y');
        cache.apply(&mut vec![Effect::BeginSome, put("b", "y", 3), Effect::Abandon], true);
        let told = cache.apply(&mut vec![Effect::BeginSome, put("b", "y", 3), unreadable("d")], true);
        assert_eq!((told.changed.news.len(), cache.late()), (0, 0), "it is the same");
        cache.apply(&mut vec![put("b", "y", 7), put("b", "y", 6)], true);
        assert_eq!((is().as_str(), cache.late()), ("b@y7 c@y18 d@y18 e@x6 f@x4", 1));
        // One that cannot be read never was what it is here.
        let told = cache.apply(&mut vec![Effect::FinishSome], true);
        assert_eq!((told.changed.news.len(), is().as_str()), (2, "b@y7 e@x6 f@x4"));
        cache.apply(&mut vec![put("b", "y", 6)], true);
        assert_eq!((is().as_str(), cache.late()), ("b@y7 e@x6 f@x4", 2));
        assert!(asked.lock().lost.is_empty());
    }

    #[test]
    fn when_a_server_was_restored_nothing_that_is_there_stays_hidden() {
        let holdings = Arc::new(Holdings::<char, Thing>::new(1, 9, Duration::ZERO));
        let stream = |key| {
            let shelf = Shelved { holdings: holdings.clone(), under: One(key), ordered: true, limit: 9 };
            Cache::new(shelf, 1, true)
        };
        let (mut x, mut y) = (stream('x'), stream('y'));
        let name: ObjectKey = "a".parse().unwrap();
        let newest = || match holdings.names.read().newest(&name) {
            Lookup::Unique(key, object) => Some((key, object.version.clone()?.revision()?.0)),
            _ => None,
        };
        // It moved from x to y, of which x is yet to hear, and was deleted there.
        lists(&mut x, Some(5), 5);
        lists(&mut y, Some(7), 7);
        lists(&mut y, None, 9);
        assert_eq!(newest(), None);
        // None of that ever was: it is at 6 again. Of x there is nothing new, but it counts, and that is told.
        assert_eq!(lists(&mut y, None, 6), 1);
        assert_eq!(newest(), Some(('x', 5)));
        // The other way round: y has it still from before, and x has it as it is since.
        lists(&mut y, Some(30), 30);
        lists(&mut x, Some(8), 8);
        assert_eq!(newest(), Some(('y', 30)));
        lists(&mut y, None, 8);
        assert_eq!(newest(), Some(('x', 8)));
        // An end that is heard then says what it says.
        lists(&mut y, Some(12), 12);
        lists(&mut y, None, 13);
        assert_eq!(newest(), None);
    }
}
