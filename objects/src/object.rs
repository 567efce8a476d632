//! What every object is to caches, selectors and controllers.

use crate::{Labels, ObjectKey, OwnerRef, ResourceVersion, Traceparent};

/// An object of a control plane: it has a key, a version and labels, and may have what Kubernetes' objects have
/// besides.
///
/// With the feature `k8s` every `kube_core::Resource` is one. A type of your own needs three lines; see the crate's
/// example. A type that implements both by hand does not compile with that feature on.
pub trait Object: Send + Sync + 'static {
    /// Its name among those of its kind; [`ObjectKey::unnamed`] before it has one.
    fn key(&self) -> ObjectKey;

    /// The version in which the store has it; `None` if it never came from one.
    fn version(&self) -> Option<ResourceVersion>;

    /// What it is selected by.
    fn labels(&self) -> Labels;

    /// What tells it from others that had its key before or will have it.
    fn uid(&self) -> Option<&str> {
        None
    }

    /// Whether it is to go, and only its finalizers still hold it.
    fn is_deleting(&self) -> bool {
        false
    }

    /// Who has work to do before it may go.
    fn finalizers(&self) -> &[String] {
        &[]
    }

    /// The objects without which it has no reason to be.
    fn owners(&self) -> Vec<OwnerRef> {
        Vec::new()
    }

    /// In which trace it was changed last: what its [annotation](Traceparent::ANNOTATION) says, if that is one.
    fn traceparent(&self) -> Option<Traceparent> {
        None
    }
}
