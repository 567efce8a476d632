//! The storage of a cache, behind a trait: a map of objects, or of the holders of each name.

use std::sync::Arc;

use foldhash::fast::FixedState;
use hashbrown::HashSet;
use machinery_objects::{ObjectKey, ResourceVersion};
use machinery_snapshot::{Map, Writer};

use crate::deliver::{Change, Notification, Removal};
use crate::reflect::SourceObject;

/// The keys that a relist has listed.
pub(crate) type ListedKeys = HashSet<ObjectKey, FixedState>;

pub(crate) trait ObjectStore<T>: Clone {
    /// The identity of an object in notifications.
    type Name;
    type Transaction<'a>: StoreTransaction<T, Name = Self::Name>
    where
        Self: 'a;

    fn len(&self) -> usize;
    /// Returns the object of a key, and the store's copy of the key.
    fn there(&self, key: &ObjectKey) -> Option<(ObjectKey, Arc<T>)>;
    /// Returns the keys in the scope of the relist that were not listed.
    fn keys_not_in(&self, seen: &ListedKeys) -> Vec<ObjectKey>;
    /// Begins a transaction that adds to the given changes.
    fn change(&self, changed: AppliedChanges<Self::Name, T>) -> Self::Transaction<'_>;
}

/// The result of committed transactions.
#[derive(Debug)]
pub(crate) struct AppliedChanges<N, T> {
    /// Whether any handler is registered.
    pub(crate) has_handlers: bool,
    pub(crate) notifications: Vec<Notification<N, Arc<T>>>,
    /// Replaced objects that are in no notification, to be dropped outside locks.
    pub(crate) displaced: Vec<Arc<T>>,
}

/// A transaction of an object store: readers see all of its changes together, or none.
pub(crate) trait StoreTransaction<T> {
    type Name;

    fn get(&self, key: &ObjectKey) -> Option<&Arc<T>>;
    /// Capacity that remains once the given objects are deleted.
    fn capacity_without(&self, _gone: &[ObjectKey]) -> usize {
        usize::MAX
    }
    fn is_new(&self, _key: &ObjectKey) -> bool {
        false
    }
    /// Prepares an empty store for this many objects.
    fn start_bulk_load(&mut self, _count: usize) {}
    /// Starts a new order of versions after a restore of the source: a smaller version may be
    /// later. Must be the first operation of the transaction.
    fn versions_restarted(&mut self) {}
    /// Returns whether the object was stored before versions restarted, and not since.
    fn predates_restore(&self, _key: &ObjectKey) -> bool {
        false
    }
    /// Ends the scope of a partial relist: its keys were listed since the restore.
    fn relist_complete(&mut self) {}
    /// Stores an object. Returns false, and stores nothing, if the store is full even after
    /// `pending_deletes` deletions.
    fn put(&mut self, found: SourceObject<Arc<T>>, initial: bool, pending_deletes: usize) -> bool;
    /// Deletes an object; `last` is its last state if the source sent it.
    fn remove(
        &mut self,
        key: &ObjectKey,
        at: Option<&ResourceVersion>,
        last: Option<Arc<T>>,
        removal: Removal,
    );
    /// Takes an object that is not stored, to be dropped outside locks.
    fn displace(&mut self, object: Arc<T>);
    /// Commits the transaction.
    fn commit(self) -> AppliedChanges<Self::Name, T>;
}

/// A map of objects by key.
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

    /// Indexes all objects at the end instead of one by one.
    fn start_bulk_load(&mut self, count: usize) {
        self.writer.reserve(count);
        self.writer.defer_indexes();
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
