//! A list that is collected beside the cache and then replaces it.
//!
//! An object that did not change costs only its key.

use std::collections::BTreeMap;
use std::sync::Arc;

use foldhash::fast::FixedState;
use machinery_objects::{Object, ObjectKey, Unreadable};

use super::store::ListedKeys;
use crate::reflect::{RemovalKind, SourceObject};

/// Number of unreadable objects that are reported by name.
pub(super) const UNREADABLE: usize = 1000;

/// The objects of a relist, from a list or a streamed state, as far as they have arrived.
pub(super) struct Relist<T> {
    /// The keys that were listed.
    pub(super) seen: ListedKeys,
    /// The objects that differ from the cache.
    pub(super) fresh: Vec<RelistChange<T>>,
    pub(super) unreadable: BTreeMap<ObjectKey, Unreadable>,
}

pub(super) enum RelistChange<T> {
    Put(SourceObject<Arc<T>>),
    Remove(SourceObject<Arc<T>>, RemovalKind),
}

impl<T> RelistChange<T> {
    pub(super) const fn key(&self) -> &ObjectKey {
        match self {
            Self::Put(found) | Self::Remove(found, _) => &found.key,
        }
    }

    pub(super) fn into_object(self) -> Arc<T> {
        match self {
            Self::Put(found) | Self::Remove(found, _) => found.object,
        }
    }
}

impl<T: Object> Relist<T> {
    pub(super) fn new(seed: FixedState, expected: usize) -> Self {
        let seen = ListedKeys::with_capacity_and_hasher(expected, seed);
        Self { seen, fresh: Vec::new(), unreadable: BTreeMap::new() }
    }

    /// Adds an object. `there` is the cached one; if it has the same version, the new one is
    /// returned, to be dropped outside locks.
    pub(super) fn put(
        &mut self,
        found: SourceObject<Arc<T>>,
        there: Option<(ObjectKey, Arc<T>)>,
    ) -> Option<Arc<T>> {
        self.unreadable.remove(&found.key);
        // A repeated object must override its first entry, even if it equals the cached one.
        let again = self.seen.contains(&found.key);
        match there.filter(|_| !again) {
            // Shares the key of the cache, so that an unchanged object costs no memory.
            Some((key, object)) if is_same(&object, &found) => {
                self.seen.insert(key);
                Some(found.object)
            }
            _ => {
                self.seen.insert(found.key.clone());
                self.fresh.push(RelistChange::Put(found));
                None
            }
        }
    }

    /// Returns the collected objects, to be dropped outside locks.
    pub(super) fn into_objects(self) -> impl Iterator<Item = Arc<T>> {
        self.fresh.into_iter().map(RelistChange::into_object)
    }

    pub(super) fn remove(&mut self, found: SourceObject<Arc<T>>, kind: RemovalKind) {
        // Seen, so that handlers receive this last state and not the cached one.
        self.seen.insert(found.key.clone());
        self.fresh.push(RelistChange::Remove(found, kind));
    }

    /// Records an unreadable object: the cache keeps its last state. If the object was deleted,
    /// returns its listed states, to be dropped outside locks.
    pub(super) fn unreadable(&mut self, unreadable: Unreadable) -> Vec<Arc<T>> {
        if unreadable.is_gone {
            self.seen.remove(&unreadable.key);
            self.unreadable.remove(&unreadable.key);
            let gone = self.fresh.extract_if(.., |fresh| fresh.key() == &unreadable.key);
            return gone.map(RelistChange::into_object).collect();
        }
        self.seen.insert(unreadable.key.clone());
        if self.unreadable.len() < UNREADABLE {
            self.unreadable.insert(unreadable.key.clone(), unreadable);
        }
        Vec::new()
    }
}

/// Returns whether the cached object has the version of the received one.
pub(super) fn is_same<T: Object>(there: &Arc<T>, found: &SourceObject<Arc<T>>) -> bool {
    found.version.is_some() && there.version() == found.version
}

#[cfg(all(test, feature = "testing"))]
mod tests {
    use super::*;
    use crate::testing::TestObject;
    use machinery_objects::Revision;

    fn found(name: &str) -> SourceObject<Arc<TestObject>> {
        let object = Arc::new(TestObject { version: Some(Revision(7).into()), ..TestObject::new(name) });
        SourceObject { key: object.key.clone(), version: object.version.clone(), object }
    }

    fn odd(name: &str, is_gone: bool) -> Unreadable {
        Unreadable { key: found(name).key, version: None, is_gone, reason: "no".into() }
    }

    #[test]
    fn an_unreadable_deletion_returns_the_listed_objects() {
        let mut relist = Relist::new(FixedState::with_seed(1), 0);
        for name in ["a", "b", "a"] {
            assert!(relist.put(found(name), None).is_none());
        }
        assert_eq!(relist.unreadable(odd("a", true)), [found("a").object, found("a").object]);
        let left: Vec<_> = relist.fresh.iter().map(RelistChange::key).collect();
        assert_eq!((left, relist.seen.len()), (vec![&found("b").key], 1));
    }

    #[test]
    fn an_unreadable_deletion_clears_the_listed_key() {
        let mut relist = Relist::new(FixedState::with_seed(1), 0);
        // `a` as the cache has it, `b` unreadable.
        assert!(relist.put(found("a"), Some((found("a").key, found("a").object))).is_some());
        assert!(relist.unreadable(odd("b", false)).is_empty());
        assert_eq!((relist.seen.len(), relist.fresh.len(), relist.unreadable.len()), (2, 0, 1));
        for name in ["a", "b"] {
            assert!(relist.unreadable(odd(name, true)).is_empty());
        }
        assert_eq!((relist.seen.len(), relist.fresh.len(), relist.unreadable.len()), (0, 0, 0));
    }

    #[test]
    fn a_listed_object_stays_when_it_becomes_unreadable() {
        let mut relist = Relist::new(FixedState::with_seed(1), 0);
        assert!(relist.put(found("a"), None).is_none());
        assert!(relist.unreadable(odd("a", false)).is_empty());
        assert_eq!((relist.seen.len(), relist.fresh.len(), relist.unreadable.len()), (1, 1, 1));
        assert!(relist.put(found("a"), None).is_none());
        assert_eq!(relist.unreadable.len(), 0, "it can be read again");
    }
}
