//! Where the objects of a cache are kept: a map of them, or one of who has them.

use std::sync::Arc;

use foldhash::fast::FixedState;
use hashbrown::HashSet;
use machinery_objects::{ObjectKey, ResourceVersion};
use machinery_snapshot::{Map, Writer};

use crate::deliver::{Change, Notification, Removal};
use crate::reflect::SourceObject;

/// All keys that came.
pub(crate) type ListedKeys = HashSet<ObjectKey, FixedState>;

pub(crate) trait ObjectStore<T>: Clone {
    /// By what those who are told know an object.
    type Name;
    type Transaction<'a>: StoreTransaction<T, Name = Self::Name>
    where
        Self: 'a;

    fn len(&self) -> usize;
    /// What is there under a key, and the key that it is there under.
    fn there(&self, key: &ObjectKey) -> Option<(ObjectKey, Arc<T>)>;
    /// All keys that are not among these, of what is renewed.
    fn keys_not_in(&self, seen: &ListedKeys) -> Vec<ObjectKey>;
    /// Begins a change, after what was changed before.
    fn change(&self, changed: AppliedChanges<Self::Name, T>) -> Self::Transaction<'_>;
}

/// What changes come to.
#[derive(Debug)]
pub(crate) struct AppliedChanges<N, T> {
    /// Whether there is anybody to tell.
    pub(crate) has_handlers: bool,
    pub(crate) notifications: Vec<Notification<N, Arc<T>>>,
    /// What was there before, and nobody is told of: to be dropped where nothing is locked.
    pub(crate) displaced: Vec<Arc<T>>,
}

/// Several changes that are seen together.
pub(crate) trait StoreTransaction<T> {
    type Name;

    fn get(&self, key: &ObjectKey) -> Option<&Arc<T>>;
    /// How many more there is room for, and whether one of this name needs it, when these have gone.
    fn capacity_without(&self, _gone: &[ObjectKey]) -> usize {
        usize::MAX
    }
    fn is_new(&self, _key: &ObjectKey) -> bool {
        false
    }
    /// So many come, and there is nothing yet.
    fn start_bulk_load(&mut self, _count: usize) {}
    /// Versions have begun anew: what comes may be later than what has a greater one. It comes first.
    fn versions_restarted(&mut self) {}
    /// Whether what is there has not come since they have.
    fn predates_restore(&self, _key: &ObjectKey) -> bool {
        false
    }
    /// What is renewed has come.
    fn relist_complete(&mut self) {}
    /// False: there is no room for it, also if so many go later, and it is as if it had not come.
    fn put(&mut self, found: SourceObject<Arc<T>>, initial: bool, pending_deletes: usize) -> bool;
    /// `last`: as the source told it, if it did.
    fn remove(
        &mut self,
        key: &ObjectKey,
        at: Option<&ResourceVersion>,
        last: Option<Arc<T>>,
        removal: Removal,
    );
    /// It is nothing that is to be there.
    fn displace(&mut self, object: Arc<T>);
    /// Makes them.
    fn commit(self) -> AppliedChanges<Self::Name, T>;
}

/// A map of objects.
pub(crate) struct MapStore<T>(pub(crate) Arc<Map<ObjectKey, Arc<T>>>);

pub(crate) struct MapTransaction<'a, T> {
    writer: Writer<'a, ObjectKey, Arc<T>>,
    changed: AppliedChanges<ObjectKey, T>,
}

impl<T: Send + Sync + 'static> ObjectStore<T> for MapStore<T> {
    type Name = ObjectKey;
    type Transaction<'a> = MapTransaction<'a, T>;

    fn len(&self) -> usize {
        self.0.len()
    }

    fn there(&self, key: &ObjectKey) -> Option<(ObjectKey, Arc<T>)> {
        self.0.snapshot().entry(key).map(|(key, object)| (key.clone(), object.clone()))
    }

    fn keys_not_in(&self, seen: &ListedKeys) -> Vec<ObjectKey> {
        let there = self.0.snapshot();
        there.iter().filter(|(key, _)| !seen.contains(*key)).map(|(key, _)| key.clone()).collect()
    }

    fn change(&self, changed: AppliedChanges<ObjectKey, T>) -> MapTransaction<'_, T> {
        MapTransaction { writer: self.0.write(), changed }
    }
}

impl<T> StoreTransaction<T> for MapTransaction<'_, T> {
    type Name = ObjectKey;

    fn get(&self, key: &ObjectKey) -> Option<&Arc<T>> {
        self.writer.get(key)
    }

    /// All of it is indexed at once.
    fn start_bulk_load(&mut self, count: usize) {
        self.writer.reserve(count);
        self.writer.index_last();
    }

    fn put(&mut self, found: SourceObject<Arc<T>>, initial: bool, _pending_deletes: usize) -> bool {
        let SourceObject { key, object, .. } = found;
        if self.changed.has_handlers {
            let before = self.writer.insert(key.clone(), object.clone());
            self.changed.notifications.push(Notification {
                key,
                before,
                change: Change::Present { object, initial },
            });
        } else {
            self.changed.displaced.extend(self.writer.insert(key, object));
        }
        true
    }

    fn remove(
        &mut self,
        key: &ObjectKey,
        _at: Option<&ResourceVersion>,
        last: Option<Arc<T>>,
        removal: Removal,
    ) {
        let Some(before) = self.writer.remove(key) else { return };
        if self.changed.has_handlers {
            let last = last.unwrap_or_else(|| before.clone());
            let change = Change::Removed { last, removal };
            self.changed.notifications.push(Notification { key: key.clone(), before: Some(before), change });
        } else {
            self.changed.displaced.push(before);
        }
    }

    fn displace(&mut self, object: Arc<T>) {
        self.changed.displaced.push(object);
    }

    fn commit(self) -> AppliedChanges<ObjectKey, T> {
        self.writer.commit();
        self.changed
    }
}

impl<N, T> Default for AppliedChanges<N, T> {
    fn default() -> Self {
        Self { has_handlers: false, notifications: Vec::new(), displaced: Vec::new() }
    }
}

impl<T> Clone for MapStore<T> {
    fn clone(&self) -> Self {
        Self(self.0.clone())
    }
}
