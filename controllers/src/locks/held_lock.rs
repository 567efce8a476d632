//! Results of claims and releases.

use std::fmt;

use machinery_objects::{Fence, Object, ObjectKey, OwnerRef, ResourceVersion, Uid, WriteOutcome, WriteToken};

/// A name that the owner held at the time of the claim.
///
/// Only the server knows whether it still does at the time of a write: write under its
/// [fence](Self::fence).
#[derive(Clone, Debug)]
pub struct HeldLock<K> {
    pub(super) key: K,
    pub(super) fence: Fence,
    pub(super) has_fences: bool,
    pub(super) token: WriteToken,
}

/// The server does not support fences: it accepts writes of a former holder.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("this server does not support fences: a former holder could still write")]
pub struct NoFences;

impl<K> HeldLock<K> {
    /// Returns the key.
    pub const fn key(&self) -> &K {
        &self.key
    }

    /// Returns the key of the lock object.
    pub const fn lock(&self) -> &ObjectKey {
        &self.fence.key
    }

    /// Returns the UID of the lock, which distinguishes it from earlier and later ones of the name.
    pub const fn uid(&self) -> &Uid {
        &self.fence.uid
    }

    /// Returns the version at which the lock was created or read.
    pub(crate) const fn version(&self) -> Option<&ResourceVersion> {
        match &self.token.wrote {
            WriteOutcome::Stored(version) => Some(version),
            _ => None,
        }
    }

    /// Returns the fence for writes that require the lock.
    ///
    /// # Errors
    /// The server does not support fences; whether an unfenced write is acceptable is up to the
    /// caller.
    pub fn fence(&self) -> Result<Fence, NoFences> {
        if self.has_fences { Ok(self.fence.clone()) } else { Err(NoFences) }
    }

    /// Returns the token of the lock, for [`Run::wrote`](crate::Run::wrote) with the
    /// [informer](super::NameLocks::informer) of the locks.
    pub const fn token(&self) -> &WriteToken {
        &self.token
    }

    /// Records that this claim created the lock: its version is not that of an earlier writer.
    pub(super) fn created(mut self) -> Self {
        if let WriteOutcome::Observed(version) = self.token.wrote {
            self.token.wrote = WriteOutcome::Stored(version);
        }
        self
    }
}

/// Equal if they are the same lock of the same name.
impl<K: PartialEq> PartialEq for HeldLock<K> {
    fn eq(&self, other: &Self) -> bool {
        self.key == other.key && self.fence == other.fence
    }
}

/// Result of a claim.
#[derive(Clone, Debug, PartialEq)]
pub enum Claim<K> {
    /// The owner holds the name.
    Held(HeldLock<K>),
    /// Another owner holds the name.
    Taken(LockHolder),
}

/// The present holder of a claimed name, and the state of the wait.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct LockHolder {
    /// The holder. `None`: the lock has no controlling owner, and blocks the name nevertheless.
    pub owner: Option<OwnerRef>,
    /// The lock is being deleted and waits for its finalizers.
    pub is_deleting: bool,
    /// Whether the claimant is in the wait queue. `false`: the queue is full, claim again later.
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

/// Result of a release.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Released {
    /// The name is free.
    Free(WriteToken),
    /// The name becomes free when the finalizers of the lock are removed.
    Deleting(WriteToken),
    /// The owner did not hold the name any more; nothing was written.
    NotHeld,
}

/// Returns the token of a lock that was read.
pub(super) fn token(lock: &impl Object, key: &ObjectKey, uid: &Uid) -> Option<WriteToken> {
    Some(WriteToken {
        key: key.clone(),
        uid: Some(uid.clone()),
        wrote: WriteOutcome::Observed(lock.version()?),
    })
}
