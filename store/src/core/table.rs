//! The newest version of each key, in the order of the keys, read as of a moment while it is written.

use std::ops::Bound;
use std::sync::Arc;

use machinery_snapshot::{Index, Map, Snapshot};

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
        let mut builder = Map::builder(seed);
        let by_key = builder.index(|key: &Key, _: &Arc<Version>| [Arc::clone(key)]);
        Self { map: builder.build(), by_key }
    }

    pub(crate) fn newest(&self, key: &str) -> Option<Arc<Version>> {
        self.map.get(key)
    }

    pub(crate) fn put(&self, version: Arc<Version>) {
        self.map.insert(Arc::clone(version.key()), version);
    }

    /// Removes the key of `version` if that is its newest.
    pub(crate) fn remove_if(&self, version: &Arc<Version>) -> bool {
        let is_newest = self.newest(version.key()).is_some_and(|newest| Arc::ptr_eq(&newest, version));
        is_newest && self.map.remove(&**version.key()).is_some()
    }

    /// Puts many at once.
    pub(crate) fn load(&self, versions: Vec<Arc<Version>>) {
        let mut writer = self.map.write();
        writer.extend(versions.into_iter().map(|version| (Arc::clone(version.key()), version)));
        writer.commit();
    }

    /// Everything as of now.
    pub(crate) fn view(&self) -> View {
        View { map: self.map.snapshot(), by_key: self.by_key }
    }

    pub(crate) fn len(&self) -> usize {
        self.map.len()
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
