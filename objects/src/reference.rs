//! One object as others name it.

use std::fmt;
use std::sync::Arc;

use crate::{Kind, ObjectKey};

/// What tells an object from others that have its name before or after it. Never used twice.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Uid(Arc<str>);

impl Uid {
    /// The UID with this text; `None` for the empty one, with which servers say that there is none.
    #[must_use]
    pub fn new(text: &str) -> Option<Self> {
        (!text.is_empty()).then(|| Self(text.into()))
    }

    /// The text.
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

/// One object: which kind, which key and, if it is known, which of those that had that key.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct ObjectRef {
    /// The sort of object.
    pub kind: Kind,
    /// Its name among those.
    pub key: ObjectKey,
    /// Which of those that had the name, one after another.
    pub uid: Option<Uid>,
}

/// As kubectl takes it: `hosts.net.example.com/db-0`, with the namespace before it.
impl fmt::Display for ObjectRef {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.key.namespace() {
            Some(namespace) => write!(f, "{namespace} {}/{}", self.kind, self.key.name()),
            None => write!(f, "{}/{}", self.kind, self.key),
        }
    }
}

/// An object without which another one has no reason to be.
///
/// The owner is in no namespace, or in that of the object which names it.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct OwnerRef {
    /// Group and version of its kind.
    pub api_version: Arc<str>,
    /// The name of its kind.
    pub kind: Arc<str>,
    /// Its name.
    pub name: Arc<str>,
    /// Which of those that had the name.
    pub uid: Uid,
    /// Whether this owner is the one that looks after the object. There is at most one.
    pub controller: bool,
    /// Whether the owner stays until the object is gone, where deletion goes from the leaves to the root.
    pub block_owner_deletion: bool,
}

impl OwnerRef {
    /// A reference to an owner that also looks after the object.
    #[must_use]
    pub fn controller(kind: &Kind, key: &ObjectKey, uid: Uid) -> Self {
        Self { controller: true, block_owner_deletion: true, ..Self::owner(kind, key, uid) }
    }

    /// A reference to an owner.
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

    /// Whether the owner is of this kind, in whichever version.
    #[must_use]
    pub fn is_a(&self, kind: &Kind) -> bool {
        let group = self.api_version.split_once('/').map_or("", |(group, _)| group);
        group == kind.group() && *self.kind == *kind.name()
    }
}
