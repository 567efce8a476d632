//! Decoding without managed fields, for types of other crates.

mod entries;
#[cfg(test)]
mod tests;
mod within;

use std::ops::{Deref, DerefMut};

use machinery_objects::{Labels, Object, ObjectKey, OwnerRef, ResourceVersion, Traceparent};
use serde::{Deserialize, Deserializer, Serialize, Serializer};

use within::{Filtered, MetadataLevel, ObjectLevel};

/// An object without its `metadata.managedFields`, which take more than half of many a cached
/// `k8s-openapi` object.
///
/// They are skipped while decoding, and never allocated, for any `O`. The rest is decoded and
/// encoded as by `O`: servers keep the managed fields of an object when an update omits them.
///
/// A custom type is smaller still: see [`PartialMetadata`](crate::PartialMetadata). A
/// [`RawValue`](serde_json::value::RawValue) in `O` that holds the metadata as text is not
/// filtered.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct WithoutManagedFields<O>(pub O);

/// Decodes the metadata of a custom type without its managed fields: then every decoder of that
/// type skips them, as with [`WithoutManagedFields`].
///
/// ```
/// use k8s_openapi::apimachinery::pkg::apis::meta::v1::ObjectMeta;
///
/// #[derive(serde::Deserialize)]
/// struct Rack {
///     #[serde(deserialize_with = "machinery_kube::metadata_without_managed_fields")]
///     metadata: ObjectMeta,
/// }
///
/// let text = r#"{"metadata": {"name": "a", "managedFields": [{"manager": "m"}]}}"#;
/// let rack: Rack = serde_json::from_str(text)?;
/// assert_eq!((rack.metadata.name.as_deref(), rack.metadata.managed_fields), (Some("a"), None));
/// # Ok::<_, serde_json::Error>(())
/// ```
///
/// # Errors
/// If it cannot be decoded as an `M`.
pub fn metadata_without_managed_fields<'de, M: Deserialize<'de>, D: Deserializer<'de>>(
    deserializer: D,
) -> Result<M, D::Error> {
    M::deserialize(Filtered::<_, MetadataLevel>::new(deserializer))
}

impl<'de, O: Deserialize<'de>> Deserialize<'de> for WithoutManagedFields<O> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        O::deserialize(Filtered::<_, ObjectLevel>::new(deserializer)).map(Self)
    }
}

impl<O: Serialize> Serialize for WithoutManagedFields<O> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        self.0.serialize(serializer)
    }
}

impl<O> Deref for WithoutManagedFields<O> {
    type Target = O;

    fn deref(&self) -> &O {
        &self.0
    }
}

impl<O> DerefMut for WithoutManagedFields<O> {
    fn deref_mut(&mut self) -> &mut O {
        &mut self.0
    }
}

impl<O: Object> Object for WithoutManagedFields<O> {
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
