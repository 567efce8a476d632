//! The table of names: a map with snapshots and transactions that return their changes.

use super::{Lookup, NameHolders};
use machinery_objects::{ObjectKey, Revision};
use machinery_snapshot::{Index, Map, Snapshot, Writer};
use std::fmt;

/// Names and their holders. Transactions return the changes, which the caller has to report.
pub(crate) struct NameTable<F, T> {
    map: Map<ObjectKey, NameHolders<F, T>>,
    by_key: Index<F>,
}

/// The change of a name under one key.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct NameChange<F, T> {
    /// The key.
    pub(crate) key: F,
    /// The name.
    pub(crate) name: ObjectKey,
    /// The object before the change.
    pub(crate) before: Option<T>,
    /// The object after the change.
    pub(crate) after: Option<T>,
}

/// Changes that become visible together; discarded unless committed.
#[must_use = "a change is nothing until it is committed"]
pub(crate) struct NamesTransaction<'a, F, T> {
    names: &'a NameTable<F, T>,
    writer: Writer<'a, ObjectKey, NameHolders<F, T>>,
    changed: Vec<NameChange<F, T>>,
    /// Versions were restarted, so that no holder is superseded.
    restarted: bool,
}

/// A snapshot of names and holders. Reads take no lock, and a clone is a pointer.
pub struct LookupSnapshot<F, T> {
    names: Snapshot<ObjectKey, NameHolders<F, T>>,
    by_key: Index<F>,
}

impl<F, T> NameTable<F, T>
where
    F: Ord + Clone + Send + Sync + 'static,
    T: Clone + Send + Sync + 'static,
{
    pub(crate) fn new(seed: u64) -> Self {
        let mut builder = Map::builder(seed);
        let by_key = builder.index(|_, holders: &NameHolders<F, T>| holders.keys());
        Self { map: builder.build(), by_key }
    }

    /// Begins a transaction, after the end of any other.
    pub(crate) fn change(&self) -> NamesTransaction<'_, F, T> {
        NamesTransaction { names: self, writer: self.map.write(), changed: Vec::new(), restarted: false }
    }

    pub(crate) fn read(&self) -> LookupSnapshot<F, T> {
        LookupSnapshot { names: self.map.snapshot(), by_key: self.by_key }
    }

    pub(crate) fn holders(&self, name: &ObjectKey) -> Option<NameHolders<F, T>> {
        self.map.get(name)
    }

    /// Removes all objects under a key.
    pub(crate) fn release(&self, key: &F) -> Vec<NameChange<F, T>> {
        let mut change = self.change();
        // No other transaction can run, so the snapshot is current.
        let read = self.read();
        for (name, _) in read.under(key) {
            change.remove(key, name, None);
        }
        change.commit()
    }
}

impl<F: Ord + Clone, T: Clone> NamesTransaction<'_, F, T> {
    #[cfg(feature = "tokio")]
    /// Returns the holder of a name under this key, or the first one if `key` is `None`.
    pub(crate) fn under(&self, name: &ObjectKey, key: Option<&F>) -> Option<(&F, &T)> {
        self.writer.get(name)?.under(key)
    }

    #[cfg(feature = "tokio")]
    /// Returns the number of names.
    pub(crate) fn len(&self) -> usize {
        self.writer.len()
    }

    #[cfg(feature = "tokio")]
    /// Returns the number of holders of a name.
    pub(crate) fn holder_count(&self, name: &ObjectKey) -> usize {
        self.writer.get(name).map_or(0, |holders| holders.all().count())
    }

    /// Stores an object under a key of a name, with its version if versions are ordered.
    pub(crate) fn put(&mut self, key: &F, name: &ObjectKey, object: T, version: Option<Revision>) {
        let holders = self.writer.get(name);
        let before = holders.and_then(|holders| holders.of(key)).cloned();
        let after = Some(object.clone());
        let holders = match holders {
            None => NameHolders::first(key.clone(), object, version),
            Some(holders) => holders.with(key.clone(), object, version),
        };
        self.writer.insert(name.clone(), holders);
        self.changed.push(NameChange { key: key.clone(), name: name.clone(), before, after });
    }

    /// Removes the object under a key of a name; `version` is that of the deletion, if versions are
    /// ordered and the source sent it.
    pub(crate) fn remove(&mut self, key: &F, name: &ObjectKey, version: Option<Revision>) {
        let Some(holders) = self.writer.get(name) else { return };
        let Some(before) = holders.of(key).cloned() else { return };
        match holders.without(key, version) {
            None => self.writer.remove(name),
            Some(holders) if self.restarted => self.writer.insert(name.clone(), holders.without_superseded()),
            Some(holders) => self.writer.insert(name.clone(), holders),
        };
        let name = name.clone();
        self.changed.push(NameChange { key: key.clone(), name, before: Some(before), after: None });
    }

    /// Restarts the order of versions after a restore of the server: no deletion, earlier or in
    /// this transaction, supersedes a holder. Holders that were superseded are reported as changed;
    /// returns their number. Must be the first operation of the transaction.
    pub(crate) fn versions_restarted(&mut self) -> usize {
        self.restarted = true;
        let there = self.names.map.snapshot();
        for (name, holders) in there.iter().filter(|(_, holders)| holders.has_superseded()) {
            for (key, object) in holders.superseded() {
                let (key, object) = (key.clone(), Some(object.clone()));
                let before = object.clone();
                self.changed.push(NameChange { key, name: name.clone(), before, after: object });
            }
            self.writer.insert(name.clone(), holders.without_superseded());
        }
        self.changed.len()
    }

    /// Commits the transaction and returns its changes in order, to be reported at once.
    #[must_use = "callers that wait for the end of an ambiguity depend on these being reported"]
    pub(crate) fn commit(self) -> Vec<NameChange<F, T>> {
        self.writer.commit();
        self.changed
    }
}

impl<F, T> LookupSnapshot<F, T>
where
    F: Ord + Clone + 'static,
    T: Clone,
{
    /// Returns the object with this name and the key that holds it.
    pub fn lookup(&self, name: &ObjectKey) -> Lookup<F, T> {
        self.names.get(name).map_or(Lookup::Absent, NameHolders::lookup)
    }

    /// As [`LookupSnapshot::lookup`], but several holders are resolved to the latest version, if
    /// versions are ordered.
    pub fn newest(&self, name: &ObjectKey) -> Lookup<F, T> {
        self.names.get(name).map_or(Lookup::Absent, NameHolders::newest)
    }

    /// Returns all objects under a key, including superseded ones, in time linear in their number.
    pub fn under<'a>(&'a self, key: &'a F) -> impl Iterator<Item = (&'a ObjectKey, &'a T)> {
        let names = self.names.by(&self.by_key, key);
        names.filter_map(move |(name, holders)| Some((name, holders.of(key)?)))
    }

    /// Returns the number of names under a key.
    pub fn count(&self, key: &F) -> usize {
        self.names.count(&self.by_key, key)
    }

    /// Returns the number of names.
    pub fn len(&self) -> usize {
        self.names.len()
    }

    /// Returns whether there are no names.
    pub fn is_empty(&self) -> bool {
        self.names.is_empty()
    }

    /// Returns all objects with key and name, in no order.
    pub fn iter(&self) -> impl Iterator<Item = (&F, &ObjectKey, &T)> {
        self.names
            .iter()
            .flat_map(|(name, holders)| holders.all().map(move |(key, object)| (key, name, object)))
    }

    /// Returns all names, in no order.
    pub fn names(&self) -> impl Iterator<Item = &ObjectKey> {
        self.names.iter().map(|(name, _)| name)
    }
}

impl<F, T> Clone for LookupSnapshot<F, T> {
    fn clone(&self) -> Self {
        Self { names: self.names.clone(), by_key: self.by_key }
    }
}

impl<F, T> fmt::Debug for LookupSnapshot<F, T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("LookupSnapshot").field("len", &self.names.len()).finish_non_exhaustive()
    }
}

impl<F, T> fmt::Debug for NameTable<F, T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Names").field("len", &self.map.len()).finish_non_exhaustive()
    }
}
