//! Writing: what becomes true only if what it rests on is still true.

use std::sync::Arc;

use async_trait::async_trait;

use crate::{Kind, ObjectKey, ObjectRef, ResourceVersion, SourceError, Uid, WriteError};

/// Whoever has the objects of one kind, to be written to. Made to be used as `Arc<dyn Writer<O>>`.
///
/// A precondition that it cannot hold makes it answer [`SourceError::Unsupported`]; it never writes without. Where a
/// future is dropped, or the answer lost, the write may be done or not.
#[async_trait]
pub trait Writer<O: Send + Sync + 'static>: Send + Sync + 'static {
    /// What it can do beyond the least.
    fn capabilities(&self) -> WriterCapabilities;

    /// Makes an object that is not there. Its version and UID are the store's to give.
    async fn create(&self, object: &O, fence: Option<&Fence>) -> Result<Written<O>, WriteError>;

    /// Replaces an object, but its status where that is apart. The object's own version is a precondition too, if it
    /// has one.
    async fn update(&self, object: &O, only_if: &Preconditions) -> Result<Written<O>, WriteError>;

    /// Replaces the status of an object and nothing else. The object's own version is a precondition too, if it has
    /// one.
    async fn update_status(&self, object: &O, only_if: &Preconditions) -> Result<Written<O>, WriteError>;

    /// Deletes an object, or marks it for its finalizers.
    async fn delete(&self, key: &ObjectKey, deletion: &Deletion) -> Result<Deleted<O>, WriteError>;

    /// Changes a part of an object. By default there is no such thing.
    async fn patch(
        &self,
        key: &ObjectKey,
        patch: &Patch,
        only_if: &Preconditions,
    ) -> Result<Written<O>, WriteError> {
        let _ = (key, patch, only_if);
        Err(SourceError::Unsupported { what: "patch" }.into())
    }
}

/// What a writer can do beyond the least, which is to hold UIDs and versions as preconditions.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct WriterCapabilities {
    /// It holds [`Fence`]s. Plain Kubernetes does not.
    pub fences: bool,
    /// It has [`Writer::patch`].
    pub patches: bool,
}

impl WriterCapabilities {
    /// The least.
    pub const LEAST: Self = Self { fences: false, patches: false };
    /// All there is.
    pub const ALL: Self = Self { fences: true, patches: true };
}

/// What must be so at the moment of the write, or nothing is written.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Preconditions {
    /// The object is this one, and no other of its name.
    pub uid: Option<Uid>,
    /// It is still at this version.
    pub version: Option<ResourceVersion>,
    /// What the writer acts under is still the writer's.
    pub fence: Option<Fence>,
}

/// What a writer acts under: a lease, or a lock on a name. The store looks at it in the transaction of the write, so
/// a writer that lost it and does not know yet writes nothing.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Fence {
    /// The kind of lease or lock.
    pub kind: Kind,
    /// Which.
    pub key: ObjectKey,
    /// Which of those that had the name.
    pub uid: Uid,
    /// How often it had changed hands when it was taken; `None` where a new holder means a new UID.
    pub epoch: Option<u64>,
    /// What it acts under besides: all of it must hold.
    pub besides: Option<Arc<Fence>>,
}

impl Fence {
    /// The lease or lock.
    #[must_use]
    pub fn object(&self) -> ObjectRef {
        ObjectRef { kind: self.kind.clone(), key: self.key.clone(), uid: Some(self.uid.clone()) }
    }

    /// This one and another, both of which must hold: a lock that is had in a term.
    #[must_use]
    pub fn and(self, other: Self) -> Self {
        let besides = self.besides.as_deref().cloned();
        let besides = besides.map_or_else(|| other.clone(), |besides| besides.and(other.clone()));
        Self { besides: Some(Arc::new(besides)), ..self }
    }

    /// This one, and each that it acts under besides.
    pub fn all(&self) -> impl Iterator<Item = &Self> {
        std::iter::successors(Some(self), |fence| fence.besides.as_deref())
    }
}

/// How to delete. By default at once, without conditions, dependents after it.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Deletion {
    /// What must be so.
    pub only_if: Preconditions,
    /// What becomes of the objects that have it as their owner.
    pub propagation: Propagation,
}

/// What becomes of the objects whose owner is deleted.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub enum Propagation {
    /// They are deleted after it.
    #[default]
    Background,
    /// They are deleted before it, and it waits.
    Foreground,
    /// They stay.
    Orphan,
}

/// A change of a part of an object.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Patch {
    /// What the text says.
    pub format: PatchFormat,
    /// The change, as the format has it.
    pub body: Arc<[u8]>,
    /// Whether it is a change of the status and of nothing else.
    pub status: bool,
}

/// How a change is written down.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum PatchFormat {
    /// JSON Patch: a list of operations.
    Json,
    /// JSON Merge Patch: the fields that change.
    Merge,
    /// Server-side apply: the fields that the manager wants, all of them.
    Apply {
        /// Who wants them.
        manager: Arc<str>,
        /// Whether to take fields that others want otherwise.
        force: bool,
    },
}

/// A write that was done.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Written<O> {
    /// The object as it is now.
    pub object: O,
    /// To wait for, where it is to be read.
    pub token: WriteToken,
}

/// A delete that was done.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Deleted<O> {
    /// The object is gone.
    Gone(WriteToken),
    /// The object is to go, and waits for its finalizers.
    Marked(Written<O>),
}

impl<O> Deleted<O> {
    /// To wait for, where it is to be read.
    pub const fn token(&self) -> &WriteToken {
        match self {
            Self::Gone(token) => token,
            Self::Marked(written) => &written.token,
        }
    }
}

/// What a cache must have seen before it shows a write.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct WriteToken {
    /// Which object.
    pub key: ObjectKey,
    /// Which of those that had the name, if that is known.
    pub uid: Option<Uid>,
    /// What became of it.
    pub wrote: WriteOutcome,
}

/// What became of an object that was written.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum WriteOutcome {
    /// It is at this version.
    Stored(ResourceVersion),
    /// It is gone, at this version if the source says so.
    Removed(Option<ResourceVersion>),
}
