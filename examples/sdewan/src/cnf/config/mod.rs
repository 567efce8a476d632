//! The configuration of a CNF: objects in collections, in order.
//!
//! * [`ConfigObject`]: one object, with its owner
//! * `check_object`: the checks of one object, as in the original
//! * [`NameSpaces`]: names that objects of several collections share
//! * `references`: the objects that refer to an object

mod checks;
mod names;
mod object;
mod references;

use std::collections::BTreeMap;

pub use checks::{CheckFailure, ConfigView, check_object};
pub use names::NameSpaces;
pub use object::ConfigObject;
pub use references::is_used;

use crate::model::CollectionId;

/// The objects of a CNF. Cheap to clone, apart from the lists.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct CnfConfig {
    collections: BTreeMap<CollectionId, Vec<ConfigObject>>,
}

impl CnfConfig {
    /// Returns the objects of a collection, in their order.
    #[must_use]
    pub fn list(&self, collection: CollectionId) -> &[ConfigObject] {
        self.collections.get(&collection).map_or(&[], Vec::as_slice)
    }

    /// Returns an object.
    #[must_use]
    pub fn get(&self, collection: CollectionId, name: &str) -> Option<&ConfigObject> {
        self.list(collection).iter().find(|object| &*object.name == name)
    }

    /// Returns all objects, collection by collection.
    pub fn iter(&self) -> impl Iterator<Item = (CollectionId, &ConfigObject)> {
        self.collections.iter().flat_map(|(id, objects)| objects.iter().map(|object| (*id, object)))
    }

    /// Returns the number of objects.
    #[must_use]
    pub fn len(&self) -> usize {
        self.collections.values().map(Vec::len).sum()
    }

    /// Returns whether there are no objects.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Puts an object in the place of the one with its name, or behind all others.
    pub fn put(&mut self, collection: CollectionId, object: ConfigObject) {
        let objects = self.collections.entry(collection).or_default();
        match objects.iter_mut().find(|present| present.name == object.name) {
            Some(present) => *present = object,
            None => objects.push(object),
        }
    }

    /// Removes an object. Returns whether it existed.
    pub fn remove(&mut self, collection: CollectionId, name: &str) -> bool {
        let Some(objects) = self.collections.get_mut(&collection) else { return false };
        let before = objects.len();
        objects.retain(|object| &*object.name != name);
        let is_removed = objects.len() < before;
        if objects.is_empty() {
            self.collections.remove(&collection);
        }
        is_removed
    }

    /// Replaces the objects of a collection.
    pub fn set(&mut self, collection: CollectionId, objects: Vec<ConfigObject>) {
        match objects.is_empty() {
            true => drop(self.collections.remove(&collection)),
            false => drop(self.collections.insert(collection, objects)),
        }
    }
}
