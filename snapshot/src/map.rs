//! The map: the newest version behind a lock that is held briefly, and the writer's lock.

use crate::index::{Column, IndexFunction};
use crate::slot_allocator::SlotAllocator;
use crate::version::{Entry, IndexChanges, Version, hash};
use crate::{Builder, Snapshot, Writer};
use foldhash::fast::FixedState;
use machinery_sync::{Mutex, RwLock};
use std::borrow::Borrow;
use std::fmt;
use std::hash::Hash;
use std::sync::Arc;

/// A map with indexes, read through snapshots while it is written. See the crate's docs.
///
/// Lock order: `writing`, then `newest`.
pub struct Map<K, V> {
    /// Read-locked to clone the pointer or to look up one key. Write-locked to replace the pointer
    /// or, if no snapshot shares the newest version, to make one prepared change of one entry in
    /// place.
    pub(crate) newest: RwLock<Arc<Version<K, V>>>,
    /// Held by the [`Writer`].
    pub(crate) writing: Mutex<WriterState>,
    pub(crate) indexes: Box<[Box<dyn IndexFunction<K, V>>]>,
    pub(crate) hasher: FixedState,
}

/// State that only the writer uses.
#[derive(Default)]
pub(crate) struct WriterState {
    pub(crate) allocator: SlotAllocator,
    /// Candidates that the current change has added to the newest version's table: marked dead on
    /// rollback.
    pub(crate) added: Vec<(u32, u32)>,
    /// Candidates that it has removed: marked dead on commit.
    pub(crate) removed: Vec<(u32, u32)>,
}

/// The memory use of a map, besides keys and values.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Usage {
    /// Keys in the newest version.
    pub entries: usize,
    /// Slots that were ever in use at the same time. Free ones are reused first.
    pub slots: usize,
    /// Buckets of the newest version's hash table.
    pub buckets: usize,
    /// Buckets in use, by entries or by dead candidates: at most four fifths of all.
    pub buckets_used: usize,
}

impl<K: 'static, V: 'static> Map<K, V> {
    /// Returns the builder of a map. The seed is for its hash table: use a secret one if keys are
    /// untrusted.
    pub fn builder(seed: u64) -> Builder<K, V> {
        Builder::new(seed)
    }
}

impl<K, V> Map<K, V> {
    pub(crate) fn new(seed: u64, indexes: Vec<Box<dyn IndexFunction<K, V>>>) -> Self {
        let indexes = indexes.into_boxed_slice();
        let columns = indexes.iter().map(|index| index.empty()).collect();
        let hasher = FixedState::with_seed(seed);
        let newest = Version::empty(columns, hasher.clone());
        Self { newest: RwLock::new(Arc::new(newest)), writing: Mutex::default(), indexes, hasher }
    }

    /// Returns all indexes, empty.
    pub(crate) fn columns(&self) -> Box<[Box<dyn Column>]> {
        self.indexes.iter().map(|index| index.empty()).collect()
    }

    pub(crate) fn version(&self) -> Arc<Version<K, V>> {
        self.newest.read().clone()
    }

    /// Returns a snapshot of the newest version. O(1) at any size.
    pub fn snapshot(&self) -> Snapshot<K, V> {
        Snapshot::new(self.version())
    }

    /// Returns the number of keys.
    pub fn len(&self) -> usize {
        self.newest.read().len
    }

    /// Returns whether the map is empty.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Returns the memory use. Waits for the current writer.
    pub fn usage(&self) -> Usage {
        let writing = self.writing.lock();
        let version = self.version();
        let (buckets, buckets_used) = version.table.size();
        Usage { entries: version.len, slots: writing.allocator.used() as usize, buckets, buckets_used }
    }

    /// Returns the changes of each index when one entry replaces another.
    pub(crate) fn compare(&self, old: Option<&Entry<K, V>>, new: Option<&Entry<K, V>>) -> IndexChanges {
        let asked = self.indexes.iter().map(|index| index.compare(old, new));
        asked.enumerate().filter_map(|(at, change)| Some((at, change?))).collect()
    }
}

impl<K: Hash + Eq, V: Clone> Map<K, V> {
    /// Returns a clone of the current value of a key. The lookup may block a writer, so comparing
    /// keys and cloning a value must not use the map. For many keys a [`Map::snapshot`] is better:
    /// it returns references.
    pub fn get<Q: Hash + Eq + ?Sized>(&self, key: &Q) -> Option<V>
    where
        K: Borrow<Q>,
    {
        // Before the lock, as hashing is code of the user.
        let hash = hash(&self.hasher, key);
        // Two atomic operations fewer than a snapshot that is dropped at once.
        self.newest.read().find(hash, key).map(|(_, entry)| entry.value.clone())
    }
}

impl<K: Hash + Eq + Clone, V: Clone> Map<K, V> {
    /// Starts a change, after the current writer is finished. Readers see all of it, or nothing.
    pub fn write(&self) -> Writer<'_, K, V> {
        Writer::new(self)
    }

    /// Sets the value of a key; returns the previous one.
    pub fn insert(&self, key: K, value: V) -> Option<V> {
        self.write().insert_and_commit(key, value)
    }

    /// Removes a key; returns its value.
    pub fn remove<Q: Hash + Eq + ?Sized>(&self, key: &Q) -> Option<V>
    where
        K: Borrow<Q>,
    {
        let mut writer = self.write();
        let before = writer.remove(key);
        writer.commit();
        before
    }

    /// Changes a clone of a key's value, and replaces the value by it. Returns `None` if the key is
    /// absent.
    pub fn update<Q: Hash + Eq + ?Sized, R>(&self, key: &Q, change: impl FnOnce(&mut V) -> R) -> Option<R>
    where
        K: Borrow<Q>,
    {
        let mut writer = self.write();
        let result = writer.update(key, change);
        writer.commit();
        result
    }
}

impl<K, V> fmt::Debug for Map<K, V> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Map").field("len", &self.len()).finish_non_exhaustive()
    }
}
