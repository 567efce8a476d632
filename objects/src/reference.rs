//! References to objects: UID, object reference and owner reference.

use std::fmt;
use std::sync::Arc;

use crate::{Kind, ObjectKey};

/// A UID: distinguishes an object from earlier and later ones with the same key. Never reused.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Uid(Arc<str>);

impl Uid {
    /// Creates a UID from its text; `None` if empty, which in Kubernetes means absent.
    #[must_use]
    pub fn new(text: &str) -> Option<Self> {
        (!text.is_empty()).then(|| Self(text.into()))
    }

    /// Returns the text.
    #[must_use]
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

impl fmt::Display for Uid {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(&self.0)
    }
}

/// A reference to an object: kind, key and, if known, UID.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct ObjectRef {
    /// The kind.
    pub kind: Kind,
    /// Namespace and name.
    pub key: ObjectKey,
    /// The UID, to exclude other objects with the same key.
    pub uid: Option<Uid>,
}

/// The form that kubectl accepts: `hosts.net.example.com/db-0`, with the namespace before it.
impl fmt::Display for ObjectRef {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.key.namespace() {
            Some(namespace) => write!(f, "{namespace} {}/{}", self.kind, self.key.name()),
            None => write!(f, "{}/{}", self.kind, self.key),
        }
    }
}

/// A reference to an owner: the object is garbage-collected after the owner's deletion.
///
/// The owner is cluster-scoped, or in the namespace of the object.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct OwnerRef {
    /// Group and version of its kind.
    pub api_version: Arc<str>,
    /// The name of its kind.
    pub kind: Arc<str>,
    /// Its name.
    pub name: Arc<str>,
    /// Its UID.
    pub uid: Uid,
    /// Whether this owner is the managing controller. At most one owner is.
    pub controller: bool,
    /// Whether foreground deletion of the owner waits for this object.
    pub block_owner_deletion: bool,
}

impl OwnerRef {
    /// Creates a reference to the managing controller.
    #[must_use]
    pub fn controller(kind: &Kind, key: &ObjectKey, uid: Uid) -> Self {
        // Both, as `NewControllerRef` of apimachinery.
        Self { controller: true, block_owner_deletion: true, ..Self::owner(kind, key, uid) }
    }

    /// Creates a reference to an owner.
    #[must_use]
    pub fn owner(kind: &Kind, key: &ObjectKey, uid: Uid) -> Self {
        Self {
            api_version: kind.api_version().into(),
            kind: kind.name().into(),
            name: key.name().into(),
            uid,
            controller: false,
            block_owner_deletion: false,
        }
    }

    /// Returns whether the owner is of this kind, in any version.
    #[must_use]
    pub fn is_a(&self, kind: &Kind) -> bool {
        // Without the version: a kind has the same objects in each of its versions.
        let group = self.api_version.split_once('/').map_or("", |(group, _)| group);
        group == kind.group() && *self.kind == *kind.name()
    }
}
