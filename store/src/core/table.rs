//! The newest version of each key, in key order, with snapshots for readers.

use std::ops::Bound;
use std::sync::Arc;

use machinery_snapshot::{Index, Map, Snapshot, Writer};

use super::version::Version;
use crate::contract::Key;

/// All keys that have a version, deleted ones included.
#[derive(Debug)]
pub(crate) struct Table {
    map: Map<Key, Arc<Version>>,
    by_key: Index<Key>,
}

impl Table {
    pub(crate) fn new(seed: u64) -> Self {
        let mut builder = Map::<Key, Arc<Version>>::builder(seed);
        let by_key = builder.keys();
        Self { map: builder.build(), by_key }
    }

    pub(crate) fn newest(&self, key: &str) -> Option<Arc<Version>> {
        self.map.get(key)
    }

    /// Fills an empty table before its first reader.
    pub(crate) fn load(&self) -> TableLoader<'_> {
        let mut writer = self.map.write();
        writer.defer_indexes();
        TableLoader(writer)
    }

    /// Returns a snapshot of the table.
    pub(crate) fn view(&self) -> View {
        View { map: self.map.snapshot(), by_key: self.by_key }
    }

    pub(crate) fn len(&self) -> usize {
        self.map.len()
    }
}

/// The newest version of each key.
pub(crate) trait NewestVersions {
    fn newest(&self, key: &str) -> Option<Arc<Version>>;

    /// Replaces the previous version of the same key.
    fn put(&mut self, version: Arc<Version>);

    fn remove(&mut self, key: &str) -> bool;

    /// Removes the key of `version` if that is its newest.
    fn remove_if(&mut self, version: &Arc<Version>) -> bool {
        let is_newest = self.newest(version.key()).is_some_and(|newest| Arc::ptr_eq(&newest, version));
        is_newest && self.remove(version.key())
    }
}

impl NewestVersions for Arc<Table> {
    fn newest(&self, key: &str) -> Option<Arc<Version>> {
        Table::newest(self, key)
    }

    fn put(&mut self, version: Arc<Version>) {
        self.map.insert(Arc::clone(version.key()), version);
    }

    fn remove(&mut self, key: &str) -> bool {
        self.map.remove(key).is_some()
    }
}

/// A table that is being loaded. It is indexed at the end, which costs a fraction of ordered
/// inserts.
pub(crate) struct TableLoader<'a>(Writer<'a, Key, Arc<Version>>);

impl TableLoader<'_> {
    /// Adds `versions`.
    pub(crate) fn all(mut self, versions: Vec<Arc<Version>>) -> Self {
        self.0.extend(versions.into_iter().map(|version| (Arc::clone(version.key()), version)));
        self
    }

    pub(crate) fn finish(self) {
        self.0.commit();
    }
}

impl NewestVersions for TableLoader<'_> {
    fn newest(&self, key: &str) -> Option<Arc<Version>> {
        self.0.get(key).cloned()
    }

    fn put(&mut self, version: Arc<Version>) {
        self.0.replace(Arc::clone(version.key()), version);
    }

    fn remove(&mut self, key: &str) -> bool {
        self.0.take(key).is_some()
    }
}

/// A snapshot of a [`Table`].
pub(crate) struct View {
    map: Snapshot<Key, Arc<Version>>,
    by_key: Index<Key>,
}

impl View {
    pub(crate) fn all(&self) -> impl Iterator<Item = &Arc<Version>> {
        self.from(Bound::Unbounded)
    }

    pub(crate) fn from(&self, start: Bound<&str>) -> impl Iterator<Item = &Arc<Version>> {
        self.map.range::<Key, str>(&self.by_key, (start, Bound::Unbounded)).map(|(_, version)| version)
    }
}
