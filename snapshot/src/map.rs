//! The map: the newest version behind a lock that is held for a moment, and the right to make the next one.

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

/// A map with indexes, that is read as of a moment while it is written. The crate's docs say what it promises.
///
/// Lock order: `writing`, then `newest`.
pub struct Map<K, V> {
    /// Read for as long as it takes to clone the pointer, or to look up one key. Written to replace the pointer or, while
    /// nobody has a snapshot of the newest version, to make one prepared change of one entry in place.
    pub(crate) newest: RwLock<Arc<Version<K, V>>>,
    /// Held by the [`Writer`].
    pub(crate) writing: Mutex<WriterState>,
    pub(crate) indexes: Box<[Box<dyn IndexFunction<K, V>>]>,
    pub(crate) hasher: FixedState,
}

/// What only the writer knows.
#[derive(Default)]
pub(crate) struct WriterState {
    pub(crate) allocator: SlotAllocator,
    /// Candidates that the change under way has added to the newest version's table: dead if it is undone.
    pub(crate) added: Vec<(u32, u32)>,
    /// Candidates that it no longer needs: dead if it is kept.
    pub(crate) removed: Vec<(u32, u32)>,
}

/// What a map takes up, besides keys and values.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Usage {
    /// KeyIndex in the newest version.
    pub entries: usize,
    /// Slots that were ever in use at once. Free ones are used again before there are new ones.
    pub slots: usize,
    /// Buckets of the newest version's hash table.
    pub buckets: usize,
    /// Buckets in use, by entries or by ones that have left: at most four fifths of all.
    pub buckets_used: usize,
}

impl<K: 'static, V: 'static> Map<K, V> {
    /// Begins a map. The seed is for its hash table: where keys come from strangers, a secret one.
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

    /// All indexes, empty.
    pub(crate) fn columns(&self) -> Box<[Box<dyn Column>]> {
        self.indexes.iter().map(|index| index.empty()).collect()
    }

    pub(crate) fn version(&self) -> Arc<Version<K, V>> {
        self.newest.read().clone()
    }

    /// The map as of now, for as long as it is kept. O(1) at any size.
    pub fn snapshot(&self) -> Snapshot<K, V> {
        Snapshot::new(self.version())
    }

    /// How many keys it holds.
    pub fn len(&self) -> usize {
        self.newest.read().len
    }

    /// Whether it holds no key.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// What it takes up. Waits for whoever is changing the map.
    pub fn usage(&self) -> Usage {
        let writing = self.writing.lock();
        let version = self.version();
        let (buckets, buckets_used) = version.table.size();
        Usage { entries: version.len, slots: writing.allocator.used() as usize, buckets, buckets_used }
    }

    /// What one entry in place of another changes in each index.
    pub(crate) fn compare(&self, old: Option<&Entry<K, V>>, new: Option<&Entry<K, V>>) -> IndexChanges {
        let asked = self.indexes.iter().map(|index| index.compare(old, new));
        asked.enumerate().filter_map(|(at, change)| Some((at, change?))).collect()
    }
}

impl<K: Hash + Eq, V: Clone> Map<K, V> {
    /// The value of a key now. It is looked up where a writer may wait for it, so comparing keys and cloning a value must not
    /// use the map. Who wants many has more of a [`Map::snapshot`], which lends them.
    pub fn get<Q: Hash + Eq + ?Sized>(&self, key: &Q) -> Option<V>
    where
        K: Borrow<Q>,
    {
        let hash = hash(&self.hasher, key);
        self.newest.read().find(hash, key).map(|(_, entry)| entry.value.clone())
    }
}

impl<K: Hash + Eq + Clone, V: Clone> Map<K, V> {
    /// Begins a change, and waits for whoever is changing the map now. Others see all of it, or none.
    pub fn write(&self) -> Writer<'_, K, V> {
        Writer::new(self)
    }

    /// Sets the value of a key; returns the one before it.
    pub fn insert(&self, key: K, value: V) -> Option<V> {
        self.write().insert_and_commit(key, value)
    }

    /// Takes a key out; returns its value.
    pub fn remove<Q: Hash + Eq + ?Sized>(&self, key: &Q) -> Option<V>
    where
        K: Borrow<Q>,
    {
        let mut writer = self.write();
        let before = writer.remove(key);
        writer.commit();
        before
    }

    /// IndexChanges a copy of a key's value, and puts it in its place. `None`: there is no such key.
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
