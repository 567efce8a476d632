//! The writer: a change of any number of entries, committed atomically.

use crate::Map;
use crate::map::WriterState;
use crate::slots::Displaced;
use crate::table::Table;
use crate::version::{Entry, EntryChange, IndexChanges, Version};
use machinery_sync::MutexGuard;
use std::borrow::Borrow;
use std::fmt;
use std::hash::Hash;
use std::mem::replace;
use std::sync::Arc;

/// A change of a map. Its effects are visible through it at once, and to readers together at the
/// commit.
///
/// Dropped without [`Writer::commit`] (a `?`, a panic) it changes nothing. There is one at a time;
/// a thread that holds one must not write the map in another way.
///
/// A change of one entry is made in place, unless a snapshot shares the newest version. A change of
/// several is made to a copy of the affected blocks, beside the readers, which then replaces the
/// newest version.
#[must_use = "a change is nothing until it is committed"]
pub struct Writer<'a, K, V> {
    /// Dropped before the other fields, which may run user drops: the next writer can start then.
    writing: MutexGuard<'a, WriterState>,
    map: &'a Map<K, V>,
    /// The version before the change: the newest, until the commit.
    base: Option<Arc<Version<K, V>>>,
    stage: WriterStage<K, V>,
    /// Blocks and values that the change has displaced, and may be the last to hold.
    displaced: Option<Displaced<Entry<K, V>>>,
    replaced: Vec<Entry<K, V>>,
    discarded: Vec<WriterStage<K, V>>,
    /// The copy's indexes are rebuilt at the commit.
    indexes_deferred: bool,
}

enum WriterStage<K, V> {
    Clean,
    /// The only change so far, not applied yet.
    One(EntryChange<K, V>),
    /// With all changes so far.
    Copy(Version<K, V>),
    /// A panic has interrupted the change of the copy.
    Poisoned,
}

const POISONED: &str = "a Writer that a panic went through can only be dropped";

impl<'a, K, V> Writer<'a, K, V> {
    pub(crate) fn new(map: &'a Map<K, V>) -> Self {
        let writing = map.writing.lock();
        let base = Some(map.version());
        Self {
            writing,
            map,
            base,
            stage: WriterStage::Clean,
            displaced: None,
            replaced: Vec::new(),
            discarded: Vec::new(),
            indexes_deferred: false,
        }
    }

    /// Returns the number of keys, with this change.
    pub fn len(&self) -> usize {
        match &self.stage {
            WriterStage::One(step) => {
                self.base().len + usize::from(step.entry.is_some()) - usize::from(step.existed)
            }
            _ => self.version().len,
        }
    }

    /// Returns whether the map is empty, with this change.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Removes all entries. Later inserts build a new map beside the one that readers use.
    pub fn clear(&mut self) {
        let base = self.base();
        let empty = Version::empty(self.map.columns(), base.hasher.clone());
        let before = replace(&mut self.stage, WriterStage::Copy(empty));
        self.discarded.push(before);
        self.writing.allocator.restart();
        self.writing.removed.clear();
    }

    fn base(&self) -> &Version<K, V> {
        self.base.as_ref().expect("it is there until the commit")
    }

    /// Returns the base version, or the copy from the second change on.
    fn version(&self) -> &Version<K, V> {
        match &self.stage {
            WriterStage::Clean | WriterStage::One(_) => self.base(),
            WriterStage::Copy(version) => version,
            WriterStage::Poisoned => panic!("{POISONED}"),
        }
    }

    fn find<Q: Eq + ?Sized>(&self, hash: u32, key: &Q) -> Option<(u32, &Entry<K, V>)>
    where
        K: Borrow<Q>,
    {
        let WriterStage::One(step) = &self.stage else { return self.version().find(hash, key) };
        match &step.entry {
            Some(entry) if step.hash == hash && entry.key.borrow() == key => Some((step.slot, entry)),
            _ => self.base().find(hash, key).filter(|&(slot, _)| slot != step.slot),
        }
    }

    /// Returns the entry of a slot.
    fn entry(&self, slot: u32) -> Option<&Entry<K, V>> {
        match &self.stage {
            WriterStage::One(step) if step.slot == slot => step.entry.as_ref(),
            _ => self.version().slots.get(slot),
        }
    }

    /// Adds a candidate for a new key; returns the new table if it was rebuilt.
    fn insert_candidate(&mut self, hash: u32, slot: u32) -> Option<Arc<Table>> {
        let table = &self.version().table;
        if table.is_full() {
            let table = table.rebuilt(1);
            table.insert(hash, slot);
            return Some(Arc::new(table));
        }
        table.insert(hash, slot);
        if Arc::ptr_eq(table, &self.base().table) {
            self.writing.added.push((hash, slot));
        }
        None
    }

    fn remove_candidate(&mut self, hash: u32, slot: u32) -> Option<Arc<Table>> {
        self.writing.allocator.free_slot(slot);
        self.writing.removed.push((hash, slot));
        match &self.stage {
            WriterStage::Clean if self.base().table.is_oversized_for(self.base().len) => {
                Some(Arc::new(self.base().table.rebuilt(0)))
            }
            _ => None, // what leaves with it is not dead yet, so there is nothing to win
        }
    }
}

impl<K: Clone, V: Clone> Writer<'_, K, V> {
    /// Publishes the change to all readers at once.
    ///
    /// # Panics
    /// If an earlier call on this writer panicked half way.
    pub fn commit(mut self) {
        self.finish();
    }

    fn finish(&mut self) {
        if let (true, WriterStage::Copy(version)) = (self.indexes_deferred, &mut self.stage) {
            version.columns = self.map.indexes.iter().map(|index| index.load(&version.slots)).collect();
        }
        match replace(&mut self.stage, WriterStage::Clean) {
            WriterStage::Clean => {}
            WriterStage::One(step) => self.commit_one(step),
            WriterStage::Copy(version) => self.publish(version),
            WriterStage::Poisoned => panic!("{POISONED}"),
        }
    }

    fn commit_one(&mut self, mut step: EntryChange<K, V>) {
        // Clones of user values happen here, before readers are locked out.
        step.leaf = self.base().slots.spare(step.slot);
        self.base = None; // or the newest version would look shared
        let mut newest = self.map.newest.write();
        if let Some(version) = Arc::get_mut(&mut newest)
            && version.prepare(&mut step)
        {
            let displaced = version.apply(&mut step);
            self.writing.settle(version);
            drop(newest);
            self.displaced = Some(displaced);
            return;
        }
        // A snapshot shares the version: the copy is made and changed while readers go on.
        let base = newest.clone();
        drop(newest);
        let mut version = Version::clone(&base);
        self.base = Some(base);
        self.displaced = Some(version.apply(&mut step));
        self.publish(version);
    }

    fn publish(&mut self, mut version: Version<K, V>) {
        self.writing.settle(&version);
        if version.table.is_oversized_for(version.len) {
            // A new table lacks removed keys, which is safe as no version uses it yet.
            version.table = Arc::new(version.table.rebuilt(0));
        }
        let version = Arc::new(version);
        // `base` keeps the previous version until the lock is released.
        *self.map.newest.write() = version;
    }

    /// Moves the writer to a copy, unless this is its first change: a single change is made in
    /// place.
    fn begin_copy(&mut self) {
        if let WriterStage::One(_) = &self.stage
            && let WriterStage::One(mut step) = replace(&mut self.stage, WriterStage::Poisoned)
        {
            let mut version = Version::clone(self.base());
            self.replaced.extend(version.apply(&mut step).value);
            self.stage = WriterStage::Copy(version);
        }
    }

    /// Inserts, replaces or removes an entry.
    fn set(&mut self, hash: u32, old: Option<u32>, new: Option<Entry<K, V>>) {
        // Index functions are user code: they may panic, so they run before anything is changed.
        let changes = match self.indexes_deferred {
            true => IndexChanges::new(),
            false => self.map.compare(old.and_then(|slot| self.entry(slot)), new.as_ref()),
        };
        self.begin_copy();
        let slot = old.unwrap_or_else(|| self.writing.allocator.allocate());
        let table = match (old, &new) {
            (None, _) => self.insert_candidate(hash, slot),
            (Some(_), None) => self.remove_candidate(hash, slot),
            (Some(_), Some(_)) => None,
        };
        let mut step =
            EntryChange { hash, slot, entry: new, existed: old.is_some(), changes, leaf: None, table };
        // Poisoned meanwhile: a panic of user code may leave half of the change in the copy.
        self.stage = match replace(&mut self.stage, WriterStage::Poisoned) {
            WriterStage::Copy(mut version) => {
                self.replaced.extend(version.apply(&mut step).value);
                WriterStage::Copy(version)
            }
            _ => WriterStage::One(step),
        };
    }
}

impl<K: Hash + Eq + Clone, V: Clone> Writer<'_, K, V> {
    /// Returns the value of a key, with this change.
    pub fn get<Q: Hash + Eq + ?Sized>(&self, key: &Q) -> Option<&V>
    where
        K: Borrow<Q>,
    {
        self.find(self.base().hash(key), key).map(|(_, entry)| &entry.value)
    }

    /// Sets the value of a key; returns the previous one.
    pub fn insert(&mut self, key: K, value: V) -> Option<V> {
        let hash = self.base().hash(&key);
        let (slot, before) = self.find(hash, &key).map(|(slot, entry)| (slot, entry.value.clone())).unzip();
        self.set(hash, slot, Some(Entry { key, value }));
        before
    }

    /// As [`Writer::insert`], but keeps no replaced values: a long change that sets a key
    /// repeatedly holds only the last value. So the key is dropped here, and the returned value may
    /// be its last reference; these drops must not use the map.
    pub fn replace(&mut self, key: K, value: V) -> Option<V> {
        if let WriterStage::Clean = self.stage {
            return self.insert(key, value);
        }
        let hash = self.base().hash(&key);
        let slot = self.find(hash, &key).map(|(slot, _)| slot);
        self.set(hash, slot, Some(Entry { key, value }));
        slot?;
        self.replaced.pop().map(|entry| entry.value)
    }

    /// Removes a key as [`Writer::remove`] does, but drops old values early, as [`Writer::replace`]
    /// does.
    pub fn take<Q: Hash + Eq + ?Sized>(&mut self, key: &Q) -> Option<V>
    where
        K: Borrow<Q>,
    {
        if let WriterStage::Clean = self.stage {
            return self.remove(key);
        }
        let hash = self.base().hash(key);
        let (slot, _) = self.find(hash, key)?;
        self.set(hash, Some(slot), None);
        self.replaced.pop().map(|entry| entry.value)
    }

    /// Removes a key; returns its value.
    pub fn remove<Q: Hash + Eq + ?Sized>(&mut self, key: &Q) -> Option<V>
    where
        K: Borrow<Q>,
    {
        let hash = self.base().hash(key);
        let (slot, before) = self.find(hash, key).map(|(slot, entry)| (slot, entry.value.clone()))?;
        self.set(hash, Some(slot), None);
        Some(before)
    }

    /// Changes a clone of a key's value, and replaces the value by it. Returns `None` if the key is
    /// absent.
    pub fn update<Q: Hash + Eq + ?Sized, R>(&mut self, key: &Q, change: impl FnOnce(&mut V) -> R) -> Option<R>
    where
        K: Borrow<Q>,
    {
        let hash = self.base().hash(key);
        let (slot, entry) = self.find(hash, key)?;
        let (key, mut value) = (entry.key.clone(), entry.value.clone());
        let result = change(&mut value);
        self.set(hash, Some(slot), Some(Entry { key, value }));
        Some(result)
    }

    /// Removes all keys for which the function returns false.
    pub fn retain(&mut self, mut keep: impl FnMut(&K, &V) -> bool) {
        self.begin_copy();
        let slots = self.version().slots.numbered();
        let rejected = slots.filter(|(_, entry)| !keep(&entry.key, &entry.value)).map(|(slot, _)| slot);
        for slot in rejected.collect::<Vec<_>>() {
            if let Some(entry) = self.entry(slot) {
                self.set(self.base().hash(&entry.key), Some(slot), None);
            }
        }
    }

    /// Defers the indexes: they are rebuilt from all entries at the commit, and not updated until
    /// then. For changes of most of the map; [`Extend`] on an empty map does it too.
    pub fn defer_indexes(&mut self) {
        self.copy();
        self.indexes_deferred = true;
    }

    /// Moves the writer to a copy of the version, even before its first change.
    fn copy(&mut self) {
        self.begin_copy();
        if let WriterStage::Clean = self.stage {
            self.stage = WriterStage::Copy(Version::clone(self.base()));
        }
    }

    /// Reserves capacity for `more` keys, so that the table of a large load does not grow step by
    /// step.
    pub fn reserve(&mut self, more: usize) {
        self.copy();
        if let WriterStage::Copy(version) = &mut self.stage
            && !version.table.has_capacity_for(more)
        {
            version.table = Arc::new(version.table.rebuilt(more));
        }
    }

    /// Inserts and commits; returns the previous value itself instead of a clone.
    pub(crate) fn insert_and_commit(mut self, key: K, value: V) -> Option<V> {
        let hash = self.base().hash(&key);
        let slot = self.find(hash, &key).map(|(slot, _)| slot);
        self.set(hash, slot, Some(Entry { key, value }));
        self.finish();
        // The lock is released before the previous value is, whose drop may use the map.
        let displaced = self.displaced.take();
        drop(self);
        slot.and(displaced?.value).map(|entry| entry.value)
    }
}

/// Faster on an empty map: each index is built from all entries at the commit.
impl<K: Hash + Eq + Clone, V: Clone> Extend<(K, V)> for Writer<'_, K, V> {
    fn extend<T: IntoIterator<Item = (K, V)>>(&mut self, pairs: T) {
        let pairs = pairs.into_iter();
        self.reserve(pairs.size_hint().0);
        if self.is_empty() {
            self.defer_indexes();
        }
        for (key, value) in pairs {
            let hash = self.base().hash(&key);
            let slot = self.find(hash, &key).map(|(slot, _)| slot);
            self.set(hash, slot, Some(Entry { key, value }));
        }
    }
}

impl<K, V> Drop for Writer<'_, K, V> {
    /// Rolls back the uncommitted change.
    fn drop(&mut self) {
        let writing = &mut *self.writing;
        writing.allocator.rollback();
        writing.removed.clear();
        if !writing.added.is_empty() {
            // Dead and not emptied, since probes of other keys may pass through these buckets.
            let newest = self.map.version();
            for (hash, slot) in writing.added.drain(..) {
                newest.table.mark_dead(hash, slot);
            }
        }
    }
}

impl WriterState {
    fn settle<K, V>(&mut self, version: &Version<K, V>) {
        for (hash, slot) in self.removed.drain(..) {
            version.table.mark_dead(hash, slot);
        }
        self.added.clear();
        self.allocator.commit();
        if version.len == 0 {
            self.allocator = crate::slot_allocator::SlotAllocator::default();
        }
    }
}

impl<K, V> fmt::Debug for Writer<'_, K, V> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Writer").field("map", self.map).finish_non_exhaustive()
    }
}
