//! All objects anew, beside those that are there. What did not change costs its key.

use std::collections::BTreeMap;
use std::sync::Arc;

use foldhash::fast::FixedState;
use machinery_objects::{Object, ObjectKey, Unreadable};

use super::shelf::Seen;
use crate::reflect::{Found, Went};

/// So many objects that cannot be read are known by name.
pub(super) const UNREADABLE: usize = 1000;

/// What a list, or a watch of the state, has told so far.
pub(super) struct Renewal<T> {
    /// All keys that came.
    pub(super) seen: Seen,
    /// What is not as it was.
    pub(super) fresh: Vec<Fresh<T>>,
    pub(super) unreadable: BTreeMap<ObjectKey, Unreadable>,
}

pub(super) enum Fresh<T> {
    Put(Found<Arc<T>>),
    Remove(Found<Arc<T>>, Went),
}

impl<T> Fresh<T> {
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

impl<T: Object> Renewal<T> {
    pub(super) fn new(seed: FixedState, expected: usize) -> Self {
        let seen = Seen::with_capacity_and_hasher(expected, seed);
        Self { seen, fresh: Vec::new(), unreadable: BTreeMap::new() }
    }

    /// `there` is what the cache has under this key. If that is the same, what came is not needed: drop it where nothing is
    /// locked.
    pub(super) fn put(&mut self, found: Found<Arc<T>>, there: Option<(ObjectKey, Arc<T>)>) -> Option<Arc<T>> {
        self.unreadable.remove(&found.key);
        let again = self.seen.contains(&found.key);
        match there.filter(|_| !again) {
            // The cache's own key: a copy of it is nothing, and the one that came is dropped.
            Some((key, object)) if is_same(&object, &found) => {
                self.seen.insert(key);
                Some(found.object)
            }
            _ => {
                self.seen.insert(found.key.clone());
                self.fresh.push(Fresh::Put(found));
                None
            }
        }
    }

    /// All that came, and is not needed.
    pub(super) fn into_objects(self) -> impl Iterator<Item = Arc<T>> {
        self.fresh.into_iter().map(Fresh::into_object)
    }

    pub(super) fn remove(&mut self, found: Found<Arc<T>>, went: Went) {
        self.seen.insert(found.key.clone());
        self.fresh.push(Fresh::Remove(found, went));
    }

    /// It is there, as nobody knows what: the cache keeps what it has. If it is gone, returns what had come of it: drop it where
    /// nothing is locked.
    pub(super) fn unreadable(&mut self, unreadable: Unreadable) -> Vec<Arc<T>> {
        if unreadable.is_gone {
            self.seen.remove(&unreadable.key);
            self.unreadable.remove(&unreadable.key);
            let gone = self.fresh.extract_if(.., |fresh| fresh.key() == &unreadable.key);
            return gone.map(Fresh::into_object).collect();
        }
        self.seen.insert(unreadable.key.clone());
        if self.unreadable.len() < UNREADABLE {
            self.unreadable.insert(unreadable.key.clone(), unreadable);
        }
        Vec::new()
    }
}

/// Whether it is the state that is there already.
pub(super) fn is_same<T: Object>(there: &Arc<T>, found: &Found<Arc<T>>) -> bool {
    found.version.is_some() && there.version() == found.version
}

#[cfg(all(test, feature = "testing"))]
mod tests {
    use super::*;
    use crate::testing::Thing;

    #[test]
    fn what_came_of_one_that_is_gone_is_given_back() {
        let mut renewal = Renewal::new(FixedState::with_seed(1), 0);
        for name in ["a", "b"] {
            let object = Arc::new(Thing::new(name));
            assert!(renewal.put(Found { key: object.key.clone(), version: None, object }, None).is_none());
        }
        let key: ObjectKey = "a".parse().unwrap();
        let gone = Unreadable { key, version: None, is_gone: true, reason: "no".into() };
        assert_eq!(renewal.unreadable(gone), [Arc::new(Thing::new("a"))]);
        assert_eq!((renewal.seen.len(), renewal.fresh.len()), (1, 1));
    }
}
