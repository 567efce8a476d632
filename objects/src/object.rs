//! The trait of all objects.

use crate::{Labels, ObjectKey, OwnerRef, ResourceVersion, Traceparent};

/// An object of a control plane, with a key, a version and labels, and optionally the other
/// metadata of Kubernetes.
///
/// With the feature `k8s` every `kube_core::Resource` implements it. Another type needs three
/// methods; see the crate's example. A type that implements both by hand does not compile with that
/// feature.
pub trait Object: Send + Sync + 'static {
    /// Returns namespace and name; [`ObjectKey::unnamed`] before a name is given.
    fn key(&self) -> ObjectKey;

    /// Returns the resourceVersion; `None` if the object was never stored.
    fn version(&self) -> Option<ResourceVersion>;

    /// Returns the labels.
    fn labels(&self) -> Labels;

    /// Returns the UID, which distinguishes this object from earlier and later ones with the same
    /// key.
    fn uid(&self) -> Option<&str> {
        None
    }

    /// Returns whether deletion was requested and finalizers are pending.
    fn is_deleting(&self) -> bool {
        false
    }

    /// Returns the finalizers that must be removed before deletion.
    fn finalizers(&self) -> &[String] {
        &[]
    }

    /// Returns the owners, after whose deletion the object is garbage-collected.
    fn owners(&self) -> Vec<OwnerRef> {
        Vec::new()
    }

    /// Returns the trace of the last change, from its [annotation](Traceparent::ANNOTATION) if that
    /// is valid.
    fn traceparent(&self) -> Option<Traceparent> {
        None
    }
}
