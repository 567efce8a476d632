//! Our cache: a snapshot map with two indexes.

use super::cache::Cache;
use super::object::{CacheKey, CachedObject};
use machinery_snapshot::{Index, Map};
use std::sync::Arc;

pub(super) struct SnapshotCache {
    map: Map<CacheKey, Arc<CachedObject>>,
    by_app: Index<Arc<str>>,
    by_node: Index<Arc<str>>,
}

impl Cache for SnapshotCache {
    fn filled(pairs: impl Iterator<Item = (CacheKey, Arc<CachedObject>)>) -> Self {
        let mut builder = Map::builder(1);
        let by_app = builder.text(|_, object: &Arc<CachedObject>| object.app());
        let by_node = builder.text(|_, object: &Arc<CachedObject>| Some(&object.node));
        let map = builder.build();
        for (key, object) in pairs {
            map.insert(key, object);
        }
        Self { map, by_app, by_node }
    }

    fn get(&self, key: &str) -> i64 {
        self.map.get(key).map_or(0, |object| object.touch())
    }

    fn list_by_app(&self, app: &str) -> i64 {
        self.map.snapshot().by(&self.by_app, app).map(|(_, object)| object.touch()).sum()
    }

    fn list_by_node(&self, node: &str) -> i64 {
        self.map.snapshot().by(&self.by_node, node).map(|(_, object)| object.touch()).sum()
    }

    fn list(&self) -> i64 {
        self.map.snapshot().iter().map(|(_, object)| object.touch()).sum()
    }

    fn write(&self, key: &CacheKey, object: &Arc<CachedObject>) {
        self.map.insert(key.clone(), object.clone());
    }
}
