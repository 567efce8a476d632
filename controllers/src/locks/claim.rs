//! Claim and release of a name.

use std::sync::Arc;

use machinery_objects::{Conflict, Deleted, Deletion, Fence, Object, ObjectKey, Preconditions, WriteError};

use super::held_lock::token;
use super::holder::LockOwner;
use super::{Claim, HeldLock, LockError, LockHolder, LockKey, NameLocks, Released};

/// Limit of attempts while the lock vanishes between creation and read.
const ATTEMPTS: usize = 4;

impl<K: LockKey, L: Object> NameLocks<K, L> {
    /// Claims a name for an owner. Succeeds if the name is free, or held by this owner already: a
    /// claim is idempotent, and may be repeated after a lost response.
    ///
    /// If another owner holds the name, the claimant enters the wait queue, unless it is
    /// [full](LockHolder::is_queued), and is [notified](Self::wake) of the release.
    ///
    /// Reads from the source, not from the cache. Dropping the future may leave a lock behind,
    /// which the next claim or [`recover`](Self::recover) finds.
    ///
    /// # Errors
    /// The key or the owner is invalid, or a request failed.
    pub async fn claim(&self, owner: &impl Object, key: &K) -> Result<Claim<K>, LockError> {
        self.claim_as(owner, key, ClaimMode::Queued).await
    }

    /// Claims a name for an owner that waits elsewhere, under a fence.
    pub(crate) async fn claim_unqueued(
        &self,
        owner: &impl Object,
        key: &K,
        fence: Option<&Fence>,
    ) -> Result<Claim<K>, LockError> {
        self.claim_as(owner, key, ClaimMode::Unqueued(fence)).await
    }

    async fn claim_as(
        &self,
        owner: &impl Object,
        key: &K,
        mode: ClaimMode<'_>,
    ) -> Result<Claim<K>, LockError> {
        let claim = self.try_claim(owner, key, mode).await;
        self.0.counters.claimed(&claim);
        claim
    }

    async fn try_claim(
        &self,
        owner: &impl Object,
        key: &K,
        mode: ClaimMode<'_>,
    ) -> Result<Claim<K>, LockError> {
        let owner = LockOwner::of(owner)?;
        let name = self.name(&owner, key)?;
        let lock = self.make(&owner, key, &name)?;
        let claim = self.create_or_read(&NameClaim { owner: &owner, key, name: &name, mode }, &lock).await?;
        if let (Claim::Held(_), ClaimMode::Queued) = (&claim, mode) {
            // The live read enqueues before it knows the holder: the holder itself does not wait.
            self.0.waiters.remove(&name, &owner.key);
        }
        Ok(claim)
    }

    async fn create_or_read(&self, of: &NameClaim<'_, K>, lock: &L) -> Result<Claim<K>, LockError> {
        let &NameClaim { key, name, mode, .. } = of;
        let fence = match mode {
            ClaimMode::Queued => None,
            ClaimMode::Unqueued(fence) => fence,
        };
        // A cached lock makes a create futile. Only a spared write: the live read decides.
        let mut found = match self.0.informer.get(name) {
            Some(_) => self.read_live(of).await?,
            None => None,
        };
        for _ in 0..ATTEMPTS {
            if let Some(claim) = found {
                return Ok(claim);
            }
            // Creating is claiming: the store lets one of two concurrent creates win.
            match self.0.kinds.writer.create(lock, fence).await {
                Ok(written) => {
                    return Ok(Claim::Held(self.held_lock(key.clone(), name, &written.object)?.created()));
                }
                // A live read decides. A create without response that is stored later is found by
                // the next attempt.
                Err(WriteError::AlreadyExists { .. } | WriteError::UnknownOutcome { .. }) => {}
                Err(error) => return Err(error.into()),
            }
            found = self.read_live(of).await?;
        }
        found.ok_or_else(|| LockError::Unsettled { name: name.clone() })
    }

    /// Returns the claim by a live read; `None` if there is no lock.
    async fn read_live(&self, of: &NameClaim<'_, K>) -> Result<Option<Claim<K>>, LockError> {
        let (&NameClaim { owner, key, name, mode }, waiters) = (of, &self.0.waiters);
        // Enqueues before the read: a waiter that saw a taken name is notified of its release.
        let is_queued = matches!(mode, ClaimMode::Queued) && waiters.enqueue(name, &owner.key);
        let Some(lock) = self.get_live(name).await? else { return Ok(None) };
        Ok(Some(match self.claim_of(owner, key, name, &lock)? {
            Claim::Taken(taken) => {
                waiters.set_lock_version(name, lock.version());
                self.0.wakes.waits(&self.0.kinds.kind, name);
                Claim::Taken(LockHolder { is_queued, ..taken })
            }
            held => held,
        }))
    }

    /// Releases a name. Idempotent; a later lock of the same name is not touched.
    ///
    /// # Errors
    /// The request failed, or its outcome is unknown: retry.
    pub async fn release(&self, held: &HeldLock<K>) -> Result<Released, LockError> {
        self.release_fenced(held, None).await
    }

    /// Releases a name under a fence.
    pub(crate) async fn release_fenced(
        &self,
        held: &HeldLock<K>,
        fence: Option<&Fence>,
    ) -> Result<Released, LockError> {
        let released = self.try_release(held, fence).await?;
        if released != Released::NotHeld {
            self.0.counters.released();
        }
        Ok(released)
    }

    async fn try_release(&self, held: &HeldLock<K>, fence: Option<&Fence>) -> Result<Released, LockError> {
        let only_if = Preconditions { uid: Some(held.uid().clone()), fence: fence.cloned(), version: None };
        let deletion = Deletion { only_if, ..Deletion::default() };
        match self.0.kinds.writer.delete(held.lock(), &deletion).await {
            Ok(Deleted::Gone(token)) => Ok(Released::Free(token)),
            Ok(Deleted::Marked(written)) => Ok(Released::Deleting(written.token)),
            Err(WriteError::NotFound | WriteError::Conflict(Conflict::Uid { .. })) => Ok(Released::NotHeld),
            // The response leaves the outcome open: a live read settles it.
            Err(
                error @ (WriteError::UnknownOutcome { .. }
                | WriteError::Conflict(Conflict::Unspecified { .. })),
            ) => match self.get_live(held.lock()).await?.filter(|lock| is_same_lock(lock, held)) {
                None => Ok(Released::NotHeld),
                Some(lock) if lock.is_deleting() => {
                    Ok(token(&*lock, held.lock(), held.uid()).map_or(Released::NotHeld, Released::Deleting))
                }
                Some(_) => Err(error.into()),
            },
            Err(error) => Err(error.into()),
        }
    }
}

/// How a claimant waits for a taken name.
#[derive(Clone, Copy)]
enum ClaimMode<'a> {
    /// In the wait queue of the name.
    Queued,
    /// Elsewhere; the lock is written under this fence.
    Unqueued(Option<&'a Fence>),
}

/// A claim of a name, in progress.
struct NameClaim<'a, K> {
    owner: &'a LockOwner,
    key: &'a K,
    name: &'a ObjectKey,
    mode: ClaimMode<'a>,
}

/// Returns whether this is the same lock, by UID.
fn is_same_lock<K, L: Object>(lock: &Arc<L>, held: &HeldLock<K>) -> bool {
    lock.uid() == Some(held.uid().as_str())
}
