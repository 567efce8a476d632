//! The object store of a stream: the shared names, under the key of the stream or of each object.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use machinery_objects::{LeaveReason, ObjectKey, ResourceVersion, Revision};
use machinery_sync::Mutex;

use super::editor::StreamCommand;
use super::interest_counts::Tenure;
use super::keyed_cache::{KeyedCache, Name};
use crate::cache::{AppliedChanges, ListedKeys, ObjectStore, StoreTransaction};
use crate::deliver::{Change, Notification, Removal};
use crate::lookup::NamesTransaction;
use crate::reflect::SourceObject;

/// The requirements on a key of keyed informers.
pub trait Key: Ord + Clone + std::hash::Hash + Send + Sync + 'static {}

impl<F: Ord + Clone + std::hash::Hash + Send + Sync + 'static> Key for F {}

/// Extracts the key from an object.
pub(crate) type KeyFn<F, T> = Arc<dyn Fn(&T) -> Option<F> + Send + Sync>;

/// Determines the key of an object.
pub(crate) trait KeyAssignment<F, T>: Clone {
    /// Returns the key of an object; `None` if it has none with an interest.
    fn key_of(&self, object: &T) -> Option<F>;
    /// Returns the key of the stream, if it has only one.
    fn single_key(&self) -> Option<&F>;
    /// Returns the keys that are being relisted.
    fn relisted_keys(&self) -> Vec<F>;
    /// The source was restored: objects under keys that are not being relisted predate the restore.
    fn versions_restarted(&self) {}
    /// Returns whether the objects under this key predate a restore.
    fn predates_restore(&self, _key: &F) -> bool {
        false
    }
    /// The keys that were being relisted are complete.
    fn relist_complete(&self) {}
}

/// Stores all objects of a stream under one key.
#[derive(Clone)]
pub(crate) struct SingleKey<F>(pub(crate) F);

/// Stores each object under the key that it has, if that key is requested and has an interest.
pub(crate) struct KeyPerObject<F, T> {
    pub(crate) keyed_cache: Arc<KeyedCache<F, T>>,
    pub(crate) find: KeyFn<F, T>,
    pub(crate) requested: Arc<Mutex<RequestedKeys<F>>>,
}

/// The keys requested from the source.
pub(crate) struct RequestedKeys<F> {
    pub(crate) keys: BTreeMap<F, Tenure>,
    /// The keys of the last request, which are being or have been relisted.
    pub(crate) relisted: Vec<F>,
    /// Keys with objects that predate a restore of the source and have not been relisted since.
    pre_restore: BTreeSet<F>,
    /// Number of events for keys without interest, since the last report.
    pub(crate) fenced: u64,
}

pub(crate) struct KeyedStore<F, T, U> {
    pub(crate) keyed_cache: Arc<KeyedCache<F, T>>,
    pub(crate) assignment: U,
    pub(crate) ordered: bool,
    /// Maximum number of names under all keys together.
    pub(crate) limit: usize,
}

pub(crate) struct KeyedTransaction<'a, F, T, U> {
    names: NamesTransaction<'a, F, Arc<T>>,
    assignment: U,
    ordered: bool,
    limit: usize,
    changed: AppliedChanges<Name<F>, T>,
    /// The kind of each change of a name.
    kinds: Vec<KeyedChange<T>>,
}

enum KeyedChange<T> {
    Present { initial: bool },
    Removed { last: Option<Arc<T>>, removal: Removal },
}

impl<F: Key, T> KeyAssignment<F, T> for SingleKey<F> {
    fn key_of(&self, _: &T) -> Option<F> {
        Some(self.0.clone())
    }

    fn single_key(&self) -> Option<&F> {
        Some(&self.0)
    }

    fn relisted_keys(&self) -> Vec<F> {
        vec![self.0.clone()]
    }
}

impl<F: Key, T: Send + Sync + 'static> KeyAssignment<F, T> for KeyPerObject<F, T> {
    fn key_of(&self, object: &T) -> Option<F> {
        let key = (self.find)(object)?;
        let requested = self.requested.lock().keys.get(&key).copied()?;
        // The key may have been released while the event was in flight.
        if self.keyed_cache.tenure(&key) == Some(requested) {
            return Some(key);
        }
        self.requested.lock().fenced += 1;
        None
    }

    fn single_key(&self) -> Option<&F> {
        None
    }

    fn relisted_keys(&self) -> Vec<F> {
        self.requested.lock().relisted.clone()
    }

    fn versions_restarted(&self) {
        let names = self.keyed_cache.names.read();
        let mut held: BTreeSet<F> = BTreeSet::new();
        for (key, _, _) in names.iter() {
            if !held.contains(key) {
                held.insert(key.clone());
            }
        }
        let mut requested = self.requested.lock();
        for key in &requested.relisted {
            held.remove(key);
        }
        requested.pre_restore = held;
    }

    fn predates_restore(&self, key: &F) -> bool {
        self.requested.lock().pre_restore.contains(key)
    }

    fn relist_complete(&self) {
        let requested = &mut *self.requested.lock();
        for key in &requested.relisted {
            requested.pre_restore.remove(key);
        }
    }
}

impl<F: Key> RequestedKeys<F> {
    /// Keys with a new tenure or none: their earlier objects are gone.
    pub(crate) fn interests_changed(&mut self, changed: &[(F, Option<Tenure>)]) {
        for (key, _) in changed {
            self.pre_restore.remove(key);
        }
    }

    pub(crate) fn record(&mut self, command: &StreamCommand<F>) {
        match command {
            StreamCommand::Wait => {}
            StreamCommand::Open { keys, .. } => {
                self.keys.clone_from(keys);
                self.relisted = keys.keys().cloned().collect();
            }
            StreamCommand::Edit { remove, add } => {
                for key in remove {
                    self.keys.remove(key);
                }
                self.keys.extend(add.iter().map(|(key, tenure)| (key.clone(), *tenure)));
                self.relisted = add.keys().cloned().collect();
            }
        }
    }
}

impl<F> Default for RequestedKeys<F> {
    fn default() -> Self {
        Self { keys: BTreeMap::new(), relisted: Vec::new(), pre_restore: BTreeSet::new(), fenced: 0 }
    }
}

impl<F, T, U: Clone> Clone for KeyedStore<F, T, U> {
    fn clone(&self) -> Self {
        let (keyed_cache, assignment) = (self.keyed_cache.clone(), self.assignment.clone());
        Self { keyed_cache, assignment, ordered: self.ordered, limit: self.limit }
    }
}

impl<F, T> Clone for KeyPerObject<F, T> {
    fn clone(&self) -> Self {
        Self {
            keyed_cache: self.keyed_cache.clone(),
            find: self.find.clone(),
            requested: self.requested.clone(),
        }
    }
}

impl<F: Key, T: Send + Sync + 'static, U: KeyAssignment<F, T>> ObjectStore<T> for KeyedStore<F, T, U> {
    type Name = Name<F>;
    type Transaction<'a>
        = KeyedTransaction<'a, F, T, U>
    where
        U: 'a;

    fn len(&self) -> usize {
        let names = self.keyed_cache.names.read();
        self.assignment.single_key().map_or_else(|| names.len(), |key| names.count(key))
    }

    fn there(&self, name: &ObjectKey) -> Option<(ObjectKey, Arc<T>)> {
        let held = self.keyed_cache.names.holders(name)?;
        let (_, object) = held.under(self.assignment.single_key())?;
        Some((name.clone(), object.clone()))
    }

    fn keys_not_in(&self, seen: &ListedKeys) -> Vec<ObjectKey> {
        let names = self.keyed_cache.names.read();
        let is_other = |name: &&ObjectKey| !seen.contains(*name);
        let relisted = self.assignment.relisted_keys();
        let under = relisted.iter().flat_map(|key| names.under(key));
        under.map(|(name, _)| name).filter(is_other).cloned().collect()
    }

    fn change(&self, changed: AppliedChanges<Name<F>, T>) -> KeyedTransaction<'_, F, T, U> {
        let (names, assignment) = (self.keyed_cache.names.change(), self.assignment.clone());
        KeyedTransaction {
            names,
            assignment,
            ordered: self.ordered,
            limit: self.limit,
            changed,
            kinds: Vec::new(),
        }
    }
}

impl<F: Key, T: Send + Sync + 'static, U: KeyAssignment<F, T>> KeyedTransaction<'_, F, T, U> {
    fn revision(&self, version: Option<&ResourceVersion>) -> Option<Revision> {
        version.filter(|_| self.ordered)?.revision()
    }

    fn remove_object(
        &mut self,
        key: &F,
        name: &ObjectKey,
        at: Option<Revision>,
        last: Option<Arc<T>>,
        removal: Removal,
    ) {
        self.names.remove(key, name, at);
        self.kinds.push(KeyedChange::Removed { last, removal });
    }
}

impl<F: Key, T: Send + Sync + 'static, U: KeyAssignment<F, T>> StoreTransaction<T>
    for KeyedTransaction<'_, F, T, U>
{
    type Name = Name<F>;

    fn get(&self, name: &ObjectKey) -> Option<&Arc<T>> {
        self.names.under(name, self.assignment.single_key()).map(|(_, object)| object)
    }

    fn capacity_without(&self, gone: &[ObjectKey]) -> usize {
        // A name that is also under another key stays.
        let gone = gone.iter().filter(|name| self.names.holder_count(name) == 1).count();
        self.limit.saturating_sub(self.names.len() - gone)
    }

    fn is_new(&self, name: &ObjectKey) -> bool {
        self.names.holder_count(name) == 0
    }

    fn versions_restarted(&mut self) {
        self.assignment.versions_restarted();
        let hidden = self.names.versions_restarted();
        self.kinds.extend((0..hidden).map(|_| KeyedChange::Present { initial: false }));
    }

    fn predates_restore(&self, name: &ObjectKey) -> bool {
        let under = self.names.under(name, self.assignment.single_key());
        under.is_some_and(|(key, _)| self.assignment.predates_restore(key))
    }

    fn relist_complete(&mut self) {
        self.assignment.relist_complete();
    }

    fn put(&mut self, found: SourceObject<Arc<T>>, initial: bool, pending_deletes: usize) -> bool {
        let version = self.revision(found.version.as_ref());
        let key = self.assignment.key_of(&found.object);
        if key.is_some() && self.names.len() - pending_deletes >= self.limit && self.is_new(&found.key) {
            self.changed.displaced.push(found.object);
            return false;
        }
        let before = self.names.under(&found.key, self.assignment.single_key()).map(|(key, _)| key.clone());
        // The object moves to another key, or to none.
        if let Some(before) = before.filter(|before| Some(before) != key.as_ref()) {
            let last = key.is_none().then(|| found.object.clone());
            self.remove_object(&before, &found.key, version, last, Removal::Left(LeaveReason::Changed));
        }
        // In the transaction of the removal: no reader finds a moving object under neither key.
        if let Some(key) = key {
            self.names.put(&key, &found.key, found.object, version);
            self.kinds.push(KeyedChange::Present { initial });
        } else {
            self.changed.displaced.push(found.object);
        }
        true
    }

    fn remove(
        &mut self,
        name: &ObjectKey,
        at: Option<&ResourceVersion>,
        last: Option<Arc<T>>,
        removal: Removal,
    ) {
        let at = self.revision(at);
        if let Some(key) = self.names.under(name, self.assignment.single_key()).map(|(key, _)| key.clone()) {
            self.remove_object(&key, name, at, last, removal);
        }
    }

    fn displace(&mut self, object: Arc<T>) {
        self.changed.displaced.push(object);
    }

    fn commit(self) -> AppliedChanges<Name<F>, T> {
        let Self { names, mut changed, kinds, .. } = self;
        for (name, kind) in names.commit().into_iter().zip(kinds) {
            if !changed.has_handlers {
                changed.displaced.extend(name.before);
                continue;
            }
            let change = match (kind, name.after) {
                (KeyedChange::Present { initial }, Some(object)) => Change::Present { object, initial },
                (KeyedChange::Removed { last, removal }, None) => {
                    let Some(last) = last.or_else(|| name.before.clone()) else { continue };
                    Change::Removed { last, removal }
                }
                _ => continue,
            };
            changed.notifications.push(Notification {
                key: (name.key, name.name),
                before: name.before,
                change,
            });
        }
        changed
    }
}

#[cfg(all(test, feature = "testing"))]
mod tests {
    use std::time::Duration;

    use machinery_objects::{ObjectKey, Unreadable};

    use super::*;
    use crate::cache::CacheWriter;
    use crate::lookup::Lookup;
    use crate::reflect::{Effect, RemovalKind};
    use crate::testing::TestObject;

    fn found(version: u64) -> Effect<Arc<TestObject>> {
        let version = Some(ResourceVersion::from(Revision(version)));
        let object = Arc::new(TestObject { version: version.clone(), ..TestObject::new("a") });
        Effect::Put(SourceObject { key: object.key.clone(), version, object })
    }

    /// Lists a stream of one key, with or without the object. Returns the number of notifications.
    fn lists(
        cache: &mut CacheWriter<TestObject, KeyedStore<char, TestObject, SingleKey<char>>>,
        shows: Option<u64>,
        at: u64,
    ) -> usize {
        let finish = Effect::FinishRelist(Revision(at).into());
        let mut effects: Vec<_> =
            [Effect::BeginRelist].into_iter().chain(shows.map(found)).chain([finish]).collect();
        cache.apply(&mut effects, true).changed.notifications.len()
    }

    #[test]
    fn a_late_left_event_keeps_a_newer_object() {
        for (ordered, left, stays) in [(true, 9, true), (true, 10, false), (false, 9, false)] {
            let keyed_cache = Arc::new(KeyedCache::<char, TestObject>::new(1, 9, Duration::ZERO));
            let store = KeyedStore {
                keyed_cache: keyed_cache.clone(),
                assignment: SingleKey('x'),
                ordered,
                limit: 9,
            };
            let mut cache = CacheWriter::new(store, 1, ordered);
            let gone = |version, went| {
                let Effect::Put(gone) = found(version) else { panic!("it is one") };
                Effect::Remove(gone, went)
            };
            cache.apply(
                &mut vec![Effect::BeginRelist, found(9), Effect::FinishRelist(Revision(9).into())],
                true,
            );
            cache.apply(&mut vec![gone(left, RemovalKind::Left)], true);
            assert_eq!(
                (keyed_cache.names.read().len(), cache.late()),
                (stays.into(), stays.into()),
                "{ordered}, {left}"
            );
            cache.apply(&mut vec![gone(9, RemovalKind::Deleted)], true);
            assert!(keyed_cache.names.read().is_empty(), "a deletion may have the version of the last state");
        }
    }

    #[test]
    fn objects_of_a_released_key_are_counted_as_fenced() {
        let keyed_cache = Arc::new(KeyedCache::<char, TestObject>::new(1, 9, Duration::ZERO));
        let now = tokio::time::Instant::now().into_std();
        let tenure = keyed_cache.acquire(&'x', now).unwrap();
        let requested = Arc::new(Mutex::new(RequestedKeys::default()));
        requested.lock().keys.insert('x', tenure);
        let assignment = KeyPerObject {
            keyed_cache: keyed_cache.clone(),
            find: Arc::new(|_| Some('x')),
            requested: requested.clone(),
        };
        let store = KeyedStore { keyed_cache: keyed_cache.clone(), assignment, ordered: true, limit: 9 };
        let mut cache = CacheWriter::new(store, 1, true);
        cache.apply(&mut vec![found(5)], true);
        assert_eq!((keyed_cache.names.read().len(), requested.lock().fenced), (1, 0));
        keyed_cache.release(&'x', tenure, now);
        cache.apply(&mut vec![found(6)], true);
        assert_eq!((keyed_cache.names.read().len(), requested.lock().fenced), (0, 1));
    }

    #[test]
    fn pre_restore_objects_are_not_compared_by_version_until_relisted() {
        let keyed_cache = Arc::new(KeyedCache::<char, TestObject>::new(1, 9, Duration::ZERO));
        let now = tokio::time::Instant::now().into_std();
        let requested = Arc::new(Mutex::new(RequestedKeys::default()));
        let request = |keys: &[char], relisted: char| {
            let tenure = |key: &char| (*key, keyed_cache.tenure(key).unwrap());
            let mut requested = requested.lock();
            (requested.keys, requested.relisted) = (keys.iter().map(tenure).collect(), vec![relisted]);
        };
        for key in ['x', 'y'] {
            keyed_cache.acquire(&key, now).unwrap();
        }
        request(&['x', 'y'], 'x');
        let find = |thing: &TestObject| thing.place.chars().next();
        let assignment = KeyPerObject {
            keyed_cache: keyed_cache.clone(),
            find: Arc::new(find),
            requested: requested.clone(),
        };
        let store = KeyedStore { keyed_cache: keyed_cache.clone(), assignment, ordered: true, limit: 9 };
        let mut cache = CacheWriter::new(store, 1, true);
        let found = |name: &str, place: &str, version: u64| {
            let version = Some(ResourceVersion::from(Revision(version)));
            let object = Arc::new(TestObject { version: version.clone(), ..TestObject::new(name).at(place) });
            SourceObject { key: object.key.clone(), version, object }
        };
        let put = |name: &str, place: &str, version| Effect::Put(found(name, place, version));
        let is = || {
            let names = keyed_cache.names.read();
            let version = |thing: &TestObject| thing.version.clone().unwrap();
            let mut all: Vec<_> =
                names.iter().map(|(key, name, thing)| format!("{name}@{key}{}", version(thing))).collect();
            all.sort();
            all.join(" ")
        };
        let unreadable = |name: &str| {
            let key = name.parse().unwrap();
            Effect::Unreadable(Unreadable { key, version: None, is_gone: false, reason: "no".into() })
        };
        let finish = |version: u64| Effect::FinishRelist(Revision(version).into());
        let there = ["b", "c", "d", "e", "f"].map(|name| put(name, "y", 18));
        cache.apply(
            &mut [Effect::BeginRelist, put("a", "x", 19)]
                .into_iter()
                .chain(there)
                .chain([finish(19)])
                .collect(),
            true,
        );
        // Only x is relisted after the restore: its missing objects are removed, and y keeps its
        // own.
        request(&['x'], 'x');
        let out = cache
            .apply(&mut vec![Effect::BeginRelist, put("f", "x", 4), finish(5)], true)
            .changed
            .notifications;
        assert_eq!((out.len(), is().as_str()), (3, "b@y18 c@y18 d@y18 e@y18 f@x4"));
        // A move from y to x is not late.
        cache.apply(&mut vec![put("e", "x", 6)], true);
        assert_eq!((is().as_str(), cache.late()), ("b@y18 c@y18 d@y18 e@x6 f@x4", 0));
        // A cancelled edit has listed some objects.
        request(&['x', 'y'], 'y');
        cache.apply(&mut vec![Effect::BeginPartialRelist, put("b", "y", 3), Effect::AbandonRelist], true);
        let out = cache.apply(&mut vec![Effect::BeginPartialRelist, put("b", "y", 3), unreadable("d")], true);
        assert_eq!((out.changed.notifications.len(), cache.late()), (0, 0), "it is the same");
        cache.apply(&mut vec![put("b", "y", 7), put("b", "y", 6)], true);
        assert_eq!((is().as_str(), cache.late()), ("b@y7 c@y18 d@y18 e@x6 f@x4", 1));
        // An unreadable object of a version after the restored one never existed.
        let out = cache.apply(&mut vec![Effect::FinishPartialRelist], true);
        assert_eq!((out.changed.notifications.len(), is().as_str()), (2, "b@y7 e@x6 f@x4"));
        cache.apply(&mut vec![put("b", "y", 6)], true);
        assert_eq!((is().as_str(), cache.late()), ("b@y7 e@x6 f@x4", 2));
        assert!(requested.lock().pre_restore.is_empty());
    }

    #[test]
    fn a_restore_reveals_superseded_objects() {
        let keyed_cache = Arc::new(KeyedCache::<char, TestObject>::new(1, 9, Duration::ZERO));
        let stream = |key| {
            let store = KeyedStore {
                keyed_cache: keyed_cache.clone(),
                assignment: SingleKey(key),
                ordered: true,
                limit: 9,
            };
            CacheWriter::new(store, 1, true)
        };
        let (mut x, mut y) = (stream('x'), stream('y'));
        let name: ObjectKey = "a".parse().unwrap();
        let newest = || match keyed_cache.names.read().newest(&name) {
            Lookup::Unique(key, object) => Some((key, object.version.clone()?.revision()?.0)),
            _ => None,
        };
        // The object moved from x to y, where it was deleted; the event of x is in flight.
        lists(&mut x, Some(5), 5);
        lists(&mut y, Some(7), 7);
        lists(&mut y, None, 9);
        assert_eq!(newest(), None);
        // After a restore y is at 6: the object under x is no longer superseded, and is reported.
        assert_eq!(lists(&mut y, None, 6), 1);
        assert_eq!(newest(), Some(('x', 5)));
        // The reverse: y holds the state from before the restore, x the one since.
        lists(&mut y, Some(30), 30);
        lists(&mut x, Some(8), 8);
        assert_eq!(newest(), Some(('y', 30)));
        lists(&mut y, None, 8);
        assert_eq!(newest(), Some(('x', 8)));
        // A later deletion supersedes as before.
        lists(&mut y, Some(12), 12);
        lists(&mut y, None, 13);
        assert_eq!(newest(), None);
    }
}
