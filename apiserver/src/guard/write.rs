//! The input of a guard's check: a write, and the other objects.

use std::sync::Arc;

use serde_json::Value;

use crate::admission::Operation;
use crate::storage::Place;
use crate::strategy::{is_deleting, meta_text};

/// A write under the check of a [`CrossKindGuard`](crate::CrossKindGuard).
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct GuardedWrite {
    /// `Delete` is a deletion that a user requests, whether the object is removed at once or only
    /// marked until its finalizers are removed.
    pub operation: Operation,
    /// The object to be stored; for a deletion the stored object.
    pub object: GuardedObject,
    /// The stored object. None for a creation.
    pub old: Option<GuardedObject>,
}

/// An object in a guard's check, in the storage version of its kind.
#[derive(Clone, Debug)]
pub struct GuardedObject {
    place: Place,
    object: Arc<Value>,
}

impl GuardedObject {
    pub(crate) const fn new(place: Place, object: Arc<Value>) -> Self {
        Self { place, object }
    }

    /// Returns whether this is an object of a resource: `is_of("apps", "deployments")`. The core
    /// group is empty.
    #[must_use]
    pub fn is_of(&self, group: &str, plural: &str) -> bool {
        self.place == Place::of(group, plural)
    }

    /// Returns the object as a type of kube; none if it is of another kind, or cannot be decoded as
    /// the type. Such an object has no keys by that type's key function, either.
    #[cfg(feature = "k8s")]
    #[must_use]
    pub fn of<K>(&self) -> Option<K>
    where
        K: kube_core::Resource<DynamicType = ()> + serde::de::DeserializeOwned,
    {
        if !self.is_of(&K::group(&()), &K::plural(&())) {
            return None;
        }
        K::deserialize(&*self.object).ok()
    }

    /// Returns the object as JSON.
    #[must_use]
    pub fn value(&self) -> &Value {
        &self.object
    }

    /// Returns the name of the object.
    #[must_use]
    pub fn name(&self) -> &str {
        meta_text(&self.object, "name")
    }

    /// Returns the namespace of the object, if its kind is namespaced.
    #[must_use]
    pub fn namespace(&self) -> Option<&str> {
        Some(meta_text(&self.object, "namespace")).filter(|namespace| !namespace.is_empty())
    }

    /// Returns whether its deletion has begun. A guard that requires another object should not
    /// accept a terminating one: it may be removed at any time, without a further check.
    #[must_use]
    pub fn is_terminating(&self) -> bool {
        is_deleting(&self.object)
    }
}
