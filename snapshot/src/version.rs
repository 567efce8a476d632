//! One version of a map: its entries and indexes, and the changes that lead to the next version.

use crate::index::{Column, IndexChange, Risk};
use crate::slots::{Displaced, Leaf, Slots};
use crate::table::Table;
use foldhash::fast::FixedState;
use std::borrow::Borrow;
use std::hash::{BuildHasher, Hash};
use std::sync::Arc;

#[derive(Clone)]
pub(crate) struct Entry<K, V> {
    pub(crate) key: K,
    pub(crate) value: V,
}

impl<K, V> Entry<K, V> {
    pub(crate) const fn pair(&self) -> (&K, &V) {
        (&self.key, &self.value)
    }
}

/// A version of the map. Its clone costs a pointer per 2048 slots and per index, and shares the
/// rest.
pub(crate) struct Version<K, V> {
    pub(crate) slots: Slots<Entry<K, V>>,
    pub(crate) len: usize,
    pub(crate) table: Arc<Table>,
    pub(crate) columns: Box<[Box<dyn Column>]>,
    pub(crate) hasher: FixedState,
}

/// The changes of the indexes, by the number of each.
pub(crate) type IndexChanges = Vec<(usize, Box<dyn IndexChange>)>;

/// A prepared change of one entry: insert, update or remove, with its index changes.
pub(crate) struct EntryChange<K, V> {
    pub(crate) hash: u32,
    pub(crate) slot: u32,
    pub(crate) entry: Option<Entry<K, V>>,
    pub(crate) existed: bool,
    pub(crate) changes: IndexChanges,
    /// Copied in advance, for a change in place.
    pub(crate) leaf: Option<Arc<Leaf<Entry<K, V>>>>,
    /// The new table, if it was rebuilt.
    pub(crate) table: Option<Arc<Table>>,
}

impl<K, V> Version<K, V> {
    pub(crate) fn empty(columns: Box<[Box<dyn Column>]>, hasher: FixedState) -> Self {
        Self { slots: Slots::new(), len: 0, table: Arc::new(Table::for_keys(0)), columns, hasher }
    }

    pub(crate) fn hash<Q: Hash + ?Sized>(&self, key: &Q) -> u32 {
        hash(&self.hasher, key)
    }

    #[inline]
    pub(crate) fn find<Q: Eq + ?Sized>(&self, hash: u32, key: &Q) -> Option<(u32, &Entry<K, V>)>
    where
        K: Borrow<Q>,
    {
        self.table.candidates(hash).find_map(|slot| {
            let entry = self.slots.get(slot)?;
            (entry.key.borrow() == key).then_some((slot, entry))
        })
    }

    pub(crate) fn get<Q: Hash + Eq + ?Sized>(&self, key: &Q) -> Option<&Entry<K, V>>
    where
        K: Borrow<Q>,
    {
        Some(self.find(self.hash(key), key)?.1)
    }
}

/// Returns the bits of a key's hash that a table uses.
pub(crate) fn hash<Q: Hash + ?Sized>(hasher: &FixedState, key: &Q) -> u32 {
    (hasher.hash_one(key) >> 32) as u32
}

impl<K: Clone, V: Clone> Version<K, V> {
    /// Prepares a change in place. Returns false if a panic of user code could tear it, so that it
    /// must be made to a copy.
    pub(crate) fn prepare(&mut self, change: &mut EntryChange<K, V>) -> bool {
        let mut risky = 0;
        for at in 0..change.changes.len() {
            let (column, index_change) = &mut change.changes[at];
            match index_change.prepare(&mut *self.columns[*column]) {
                Risk::None => {}
                Risk::AllOrNothing => {
                    // Before those that cannot panic.
                    risky += 1;
                    change.changes.swap(0, at);
                }
                Risk::High => return false,
            }
        }
        // After a panic in a second such change, the first would remain without it.
        risky <= 1
    }

    /// Applies a change. The caller drops the displaced blocks.
    pub(crate) fn apply(&mut self, change: &mut EntryChange<K, V>) -> Displaced<Entry<K, V>> {
        // Indexes first: their comparisons may panic, and the entry is then still the old one.
        for (at, index_change) in change.changes.drain(..) {
            index_change.apply(&mut *self.columns[at], change.slot);
        }
        if let Some(table) = change.table.take() {
            self.table = table;
        }
        self.len = self.len + usize::from(change.entry.is_some()) - usize::from(change.existed);
        self.slots.set(change.slot, change.entry.take(), change.leaf.take())
    }
}

impl<K, V> Clone for Version<K, V> {
    fn clone(&self) -> Self {
        Self {
            slots: self.slots.clone(),
            len: self.len,
            table: self.table.clone(),
            columns: self.columns.iter().map(|column| column.copy()).collect(),
            hasher: self.hasher.clone(),
        }
    }
}
