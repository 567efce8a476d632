//! A name that one has, and one that another has.

use std::fmt;

use machinery_objects::{Fence, Object, ObjectKey, OwnerRef, Uid, WriteToken, Wrote};

/// A name that the owner has, as far as is known.
///
/// Whether that is so still is known at the moment of a write, and to the server: write under its [fence](Self::fence).
#[derive(Clone, Debug, PartialEq)]
pub struct HeldLock<K> {
    pub(super) key: K,
    pub(super) fence: Fence,
    pub(super) has_fences: bool,
    pub(super) token: WriteToken,
}

/// The server does not look at fences: nothing keeps somebody who has lost a name from writing.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("this server has no fences: who has lost a name could write all the same")]
pub struct NoFences;

impl<K> HeldLock<K> {
    /// What is had.
    pub const fn key(&self) -> &K {
        &self.key
    }

    /// The object that is the lock.
    pub const fn lock(&self) -> &ObjectKey {
        &self.fence.key
    }

    /// Which of those that had the name.
    pub const fn uid(&self) -> &Uid {
        &self.fence.uid
    }

    /// For writes that are only to be made if the name is the owner's still.
    ///
    /// # Errors
    /// The server does not look at such things. What it then takes to be safe is the caller's to know.
    pub fn fence(&self) -> Result<Fence, NoFences> {
        if self.has_fences { Ok(self.fence.clone()) } else { Err(NoFences) }
    }

    /// What the [informer](super::NameLocks::informer) shows when it shows this lock: for [`Run::wrote`](crate::Run::wrote).
    pub const fn token(&self) -> &WriteToken {
        &self.token
    }
}

/// What came of a claim.
#[derive(Clone, Debug, PartialEq)]
pub enum Claim<K> {
    /// The name is the owner's.
    Held(HeldLock<K>),
    /// It is another's.
    Taken(LockHolder),
}

/// A name that another has.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct LockHolder {
    /// Whose it is. A lock that nobody looks after is nobody's, and in the way all the same.
    pub owner: Option<OwnerRef>,
    /// The lock is about to go, and waits for its finalizers.
    pub is_deleting: bool,
    /// Whether the owner is told when the name is free. If not, there are too many who wait: ask again after some time.
    pub is_queued: bool,
}

impl fmt::Display for LockHolder {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &self.owner {
            Some(owner) => write!(f, "{} {}", owner.kind, owner.name),
            None => f.write_str("nobody"),
        }
    }
}

/// What came of a release.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Released {
    /// The name is free.
    Free(WriteToken),
    /// It will be when the finalizers of the lock have gone.
    Deleting(WriteToken),
    /// It was not the owner's any more. Nothing was touched.
    NotHeld,
}

/// Of a lock as it was read.
pub(super) fn token(lock: &impl Object, key: &ObjectKey, uid: &Uid) -> Option<WriteToken> {
    Some(WriteToken { key: key.clone(), uid: Some(uid.clone()), wrote: Wrote::Stored(lock.version()?) })
}
