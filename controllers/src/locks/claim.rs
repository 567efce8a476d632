//! Claim and release of a name.

use std::sync::Arc;

use machinery_objects::{Conflict, Deleted, Deletion, Object, ObjectKey, Preconditions, WriteError};

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
        let claim = self.try_claim(owner, key).await;
        self.0.counters.claimed(&claim);
        claim
    }

    async fn try_claim(&self, owner: &impl Object, key: &K) -> Result<Claim<K>, LockError> {
        let owner = LockOwner::of(owner)?;
        let name = self.name(&owner, key)?;
        let lock = self.make(&owner, key, &name)?;
        let claim = self.create_or_read(&owner, key, &name, &lock).await?;
        if let Claim::Held(_) = claim {
            // The live read enqueues before it knows the holder: the holder itself does not wait.
            self.0.waiters.remove(&name, &owner.key);
        }
        Ok(claim)
    }

    async fn create_or_read(
        &self,
        owner: &LockOwner,
        key: &K,
        name: &ObjectKey,
        lock: &L,
    ) -> Result<Claim<K>, LockError> {
        // A cached lock makes a create futile. Only a spared write: the live read decides.
        let mut found = match self.0.informer.get(name) {
            Some(_) => self.read_live(owner, key, name).await?,
            None => None,
        };
        for _ in 0..ATTEMPTS {
            if let Some(claim) = found {
                return Ok(claim);
            }
            // Creating is claiming: the store lets one of two concurrent creates win.
            match self.0.kinds.writer.create(lock, None).await {
                Ok(written) => {
                    return Ok(Claim::Held(self.held_lock(key.clone(), name, &written.object)?.created()));
                }
                // A live read decides. A create without response that is stored later is found by
                // the next attempt.
                Err(WriteError::AlreadyExists { .. } | WriteError::UnknownOutcome { .. }) => {}
                Err(error) => return Err(error.into()),
            }
            found = self.read_live(owner, key, name).await?;
        }
        found.ok_or_else(|| LockError::Unsettled { name: name.clone() })
    }

    /// Returns the claim by a live read; `None` if there is no lock.
    async fn read_live(
        &self,
        owner: &LockOwner,
        key: &K,
        name: &ObjectKey,
    ) -> Result<Option<Claim<K>>, LockError> {
        let waiters = &self.0.waiters;
        // Enqueues before the read: a waiter that saw a taken name is notified of its release.
        let is_queued = waiters.enqueue(name, &owner.key);
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
        let released = self.try_release(held).await?;
        if released != Released::NotHeld {
            self.0.counters.released();
        }
        Ok(released)
    }

    async fn try_release(&self, held: &HeldLock<K>) -> Result<Released, LockError> {
        let only_if = Preconditions { uid: Some(held.uid().clone()), ..Preconditions::default() };
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

/// Returns whether this is the same lock, by UID.
fn is_same_lock<K, L: Object>(lock: &Arc<L>, held: &HeldLock<K>) -> bool {
    lock.uid() == Some(held.uid().as_str())
}
