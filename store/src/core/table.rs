//! The newest version of each key, in the order of the keys, read as of a moment while it is written.

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

    /// Lets an empty table be filled before anybody reads it.
    pub(crate) fn load(&self) -> TableLoader<'_> {
        let mut writer = self.map.write();
        writer.index_last();
        TableLoader(writer)
    }

    /// Everything as of now.
    pub(crate) fn view(&self) -> View {
        View { map: self.map.snapshot(), by_key: self.by_key }
    }

    pub(crate) fn len(&self) -> usize {
        self.map.len()
    }
}

/// Where the newest version of each key is.
pub(crate) trait NewestVersions {
    fn newest(&self, key: &str) -> Option<Arc<Version>>;

    /// In place of the one before it of the same key.
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

/// What becomes the table when all of it is there. It has no order before that: to keep one costs several times as much.
pub(crate) struct TableLoader<'a>(Writer<'a, Key, Arc<Version>>);

impl TableLoader<'_> {
    /// With all of these.
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

/// A table as it was.
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
