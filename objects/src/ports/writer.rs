//! The write port: create, update, patch and delete, with preconditions.

use std::sync::Arc;

use async_trait::async_trait;

use crate::{Kind, ObjectKey, ObjectRef, ResourceVersion, SourceError, Uid, WriteError};

/// Writes objects of one kind. Used as `Arc<dyn Writer<O>>`.
///
/// An unsupported precondition is [`SourceError::Unsupported`]; it is never ignored. If a future is
/// dropped or the response is lost, the write may or may not be committed.
#[async_trait]
pub trait Writer<O: Send + Sync + 'static>: Send + Sync + 'static {
    /// Returns the optional features of the writer.
    fn capabilities(&self) -> WriterCapabilities;

    /// Creates an object. The store assigns its version and UID.
    async fn create(&self, object: &O, fence: Option<&Fence>) -> Result<Written<O>, WriteError>;

    /// Replaces an object, without its status if that is a subresource. The object's own version,
    /// if set, is a precondition too.
    async fn update(&self, object: &O, only_if: &Preconditions) -> Result<Written<O>, WriteError>;

    /// Replaces the status of an object only. The object's own version, if set, is a precondition
    /// too.
    async fn update_status(&self, object: &O, only_if: &Preconditions) -> Result<Written<O>, WriteError>;

    /// Deletes an object, or marks it for deletion while it has finalizers.
    async fn delete(&self, key: &ObjectKey, deletion: &Deletion) -> Result<Deleted<O>, WriteError>;

    /// Patches an object. By default unsupported.
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

/// Optional features of a writer, beyond UID and version as preconditions.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct WriterCapabilities {
    /// Supports [`Fence`]s. Plain Kubernetes does not.
    pub fences: bool,
    /// Supports [`Writer::patch`].
    pub patches: bool,
}

impl WriterCapabilities {
    /// No optional features.
    pub const LEAST: Self = Self { fences: false, patches: false };
    /// All optional features.
    pub const ALL: Self = Self { fences: true, patches: true };
}

/// The preconditions of a write (Kubernetes: `preconditions`): if one does not hold at the commit,
/// nothing is written.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Preconditions {
    /// The object has this UID.
    pub uid: Option<Uid>,
    /// The object is at this version.
    pub version: Option<ResourceVersion>,
    /// The fence is not stale.
    pub fence: Option<Fence>,
}

/// A fencing token: the Lease or lock under which a writer acts. The store verifies it in the
/// transaction of the write, so a writer that has lost the Lease without noticing cannot write.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Fence {
    /// The kind of the Lease or lock.
    pub kind: Kind,
    /// The key of the Lease or lock.
    pub key: ObjectKey,
    /// The UID of the Lease or lock.
    pub uid: Uid,
    /// The number of transitions of the Lease when it was acquired; `None` for a lock, which has a
    /// new UID for each holder.
    pub epoch: Option<u64>,
    /// A further fence, which must hold too.
    pub besides: Option<Arc<Fence>>,
}

impl Fence {
    /// Returns a reference to the Lease or lock.
    #[must_use]
    pub fn object(&self) -> ObjectRef {
        ObjectRef { kind: self.kind.clone(), key: self.key.clone(), uid: Some(self.uid.clone()) }
    }

    /// Combines two fences, both of which must hold: for instance a lock that was acquired within a
    /// leader's term.
    #[must_use]
    pub fn and(self, other: Self) -> Self {
        let besides = self.besides.as_deref().cloned();
        let besides = besides.map_or_else(|| other.clone(), |besides| besides.and(other.clone()));
        Self { besides: Some(Arc::new(besides)), ..self }
    }

    /// Returns this fence and all further ones.
    pub fn all(&self) -> impl Iterator<Item = &Self> {
        std::iter::successors(Some(self), |fence| fence.besides.as_deref())
    }
}

/// Options of a delete. By default unconditional, with background propagation.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Deletion {
    /// The preconditions.
    pub only_if: Preconditions,
    /// The propagation policy.
    pub propagation: Propagation,
}

/// The propagation policy of a delete: the treatment of dependents.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub enum Propagation {
    /// Dependents are deleted after the owner.
    #[default]
    Background,
    /// Dependents are deleted before the owner, which is kept until then.
    Foreground,
    /// Dependents are kept, without the owner reference.
    Orphan,
}

/// A patch of an object.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Patch {
    /// The format of the body.
    pub format: PatchFormat,
    /// The patch, encoded in the format.
    pub body: Arc<[u8]>,
    /// Whether it patches the status subresource.
    pub status: bool,
}

/// The format of a patch.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum PatchFormat {
    /// JSON Patch: a list of operations.
    Json,
    /// JSON Merge Patch: the fields that change.
    Merge,
    /// Server-side apply: all fields that the field manager sets.
    Apply {
        /// The field manager.
        manager: Arc<str>,
        /// Whether to take over fields in conflict with other managers.
        force: bool,
    },
}

/// A committed write.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Written<O> {
    /// The object as stored.
    pub object: O,
    /// The token with which to wait until a cache includes the write.
    pub token: WriteToken,
}

/// A committed delete.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Deleted<O> {
    /// The object was removed.
    Gone(WriteToken),
    /// The object is marked for deletion, and waits for its finalizers.
    Marked(Written<O>),
}

impl<O> Deleted<O> {
    /// Returns the token with which to wait until a cache includes the delete.
    pub const fn token(&self) -> &WriteToken {
        match self {
            Self::Gone(token) => token,
            Self::Marked(written) => &written.token,
        }
    }
}

/// A token of a write, to wait until a cache includes it (read your writes).
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct WriteToken {
    /// The key of the object.
    pub key: ObjectKey,
    /// The UID of the object, if known.
    pub uid: Option<Uid>,
    /// The outcome of the write.
    pub wrote: WriteOutcome,
}

/// The outcome of a write.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum WriteOutcome {
    /// This write stored the object at this version.
    Stored(ResourceVersion),
    /// The object is at this version, by this write or by an earlier one of anybody: the write may
    /// have changed nothing.
    Observed(ResourceVersion),
    /// The object was removed, at this version if the source gives it.
    Removed(Option<ResourceVersion>),
}
