//! Objects of types that others wrote, without what nobody reads.

mod entries;
#[cfg(test)]
mod tests;
mod within;

use std::ops::{Deref, DerefMut};

use machinery_objects::{Labels, Object, ObjectKey, OwnerRef, ResourceVersion, Traceparent};
use serde::{Deserialize, Deserializer, Serialize, Serializer};

use within::{Meta, Top, Within};

/// An object without its `metadata.managedFields`, which are more than half of what many a `k8s-openapi` object takes in a cache.
///
/// They are skipped while it is read, and nothing of them is ever made, whatever `O` is. The rest is as `O` reads it, and it is
/// written as `O` writes it: servers keep the managed fields of an object when an update does not say them.
///
/// A type of your own is smaller still: see [`Meta`](crate::Meta). What `O` keeps as text, as a
/// [`RawValue`](serde_json::value::RawValue) of its metadata, stays whole.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Slim<O>(pub O);

/// Reads the metadata of a type of your own without its managed fields: then all who read that type skip them, as with [`Slim`].
///
/// ```
/// use k8s_openapi::apimachinery::pkg::apis::meta::v1::ObjectMeta;
///
/// #[derive(serde::Deserialize)]
/// struct Rack {
///     #[serde(deserialize_with = "machinery_kube::slim_metadata")]
///     metadata: ObjectMeta,
/// }
///
/// let rack: Rack = serde_json::from_str(r#"{"metadata": {"name": "a", "managedFields": [{"manager": "m"}]}}"#)?;
/// assert_eq!((rack.metadata.name.as_deref(), rack.metadata.managed_fields), (Some("a"), None));
/// # Ok::<_, serde_json::Error>(())
/// ```
///
/// # Errors
/// It cannot be read as an `M`.
pub fn slim_metadata<'de, M: Deserialize<'de>, D: Deserializer<'de>>(deserializer: D) -> Result<M, D::Error> {
    M::deserialize(Within::<_, Meta>::new(deserializer))
}

impl<'de, O: Deserialize<'de>> Deserialize<'de> for Slim<O> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        O::deserialize(Within::<_, Top>::new(deserializer)).map(Self)
    }
}

impl<O: Serialize> Serialize for Slim<O> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        self.0.serialize(serializer)
    }
}

impl<O> Deref for Slim<O> {
    type Target = O;

    fn deref(&self) -> &O {
        &self.0
    }
}

impl<O> DerefMut for Slim<O> {
    fn deref_mut(&mut self) -> &mut O {
        &mut self.0
    }
}

impl<O: Object> Object for Slim<O> {
    fn key(&self) -> ObjectKey {
        self.0.key()
    }

    fn version(&self) -> Option<ResourceVersion> {
        self.0.version()
    }

    fn labels(&self) -> Labels {
        self.0.labels()
    }

    fn uid(&self) -> Option<&str> {
        self.0.uid()
    }

    fn is_deleting(&self) -> bool {
        self.0.is_deleting()
    }

    fn finalizers(&self) -> &[String] {
        self.0.finalizers()
    }

    fn owners(&self) -> Vec<OwnerRef> {
        self.0.owners()
    }

    fn traceparent(&self) -> Option<Traceparent> {
        self.0.traceparent()
    }
}
