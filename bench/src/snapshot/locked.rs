//! The baseline: hash maps under one reader-writer lock, with lists under the lock.

#![expect(clippy::disallowed_types, reason = "this is the map that one would write without thinking")]

use super::cache::Cache;
use super::object::{CacheKey, CachedObject};
use machinery_sync::RwLock;
use std::collections::{HashMap, HashSet};
use std::sync::Arc;

#[derive(Default)]
pub(super) struct Locked(RwLock<Maps>);

#[derive(Default)]
struct Maps {
    objects: HashMap<CacheKey, Arc<CachedObject>>,
    by_app: HashMap<String, HashSet<CacheKey>>,
    by_node: HashMap<String, HashSet<CacheKey>>,
}

impl Cache for Locked {
    fn filled(pairs: impl Iterator<Item = (CacheKey, Arc<CachedObject>)>) -> Self {
        let locked = Self::default();
        for (key, object) in pairs {
            locked.write(&key, &object);
        }
        locked
    }

    fn get(&self, key: &str) -> i64 {
        let object = self.0.read().objects.get(key).cloned();
        object.map_or(0, |object| object.touch())
    }

    fn list_by_app(&self, app: &str) -> i64 {
        let maps = self.0.read();
        maps.touch(maps.by_app.get(app))
    }

    fn list_by_node(&self, node: &str) -> i64 {
        let maps = self.0.read();
        maps.touch(maps.by_node.get(node))
    }

    fn list(&self) -> i64 {
        self.0.read().objects.values().map(|object| object.touch()).sum()
    }

    fn write(&self, key: &CacheKey, object: &Arc<CachedObject>) {
        let mut maps = self.0.write();
        let Maps { objects, by_app, by_node } = &mut *maps;
        let old = objects.insert(key.clone(), object.clone());
        let old = old.as_deref();
        let app = |object: &CachedObject| object.app().unwrap_or_default().to_owned();
        moves(by_app, key, old.map(app), app(object));
        moves(by_node, key, old.map(|old| old.node.clone()), object.node.clone());
    }
}

impl Maps {
    fn touch(&self, keys: Option<&HashSet<CacheKey>>) -> i64 {
        keys.into_iter().flatten().map(|key| self.objects[key].touch()).sum()
    }
}

fn moves(index: &mut HashMap<String, HashSet<CacheKey>>, key: &CacheKey, old: Option<String>, new: String) {
    if old.as_ref() == Some(&new) {
        return;
    }
    if let Some(keys) = old.and_then(|old| index.get_mut(&old)) {
        keys.remove(key);
    }
    index.entry(new).or_default().insert(key.clone());
}
