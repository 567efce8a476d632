//! Taking a name, and giving it back.

use std::sync::Arc;

use machinery_objects::{Conflict, Deleted, Deletion, Object, ObjectKey, Preconditions, WriteError};

use super::held_lock::token;
use super::holder::LockOwner;
use super::{Claim, HeldLock, LockError, LockHolder, LockKey, NameLocks, Released};

/// So often a lock may be there when it is made, and gone when it is looked at.
const ATTEMPTS: usize = 4;

impl<K: LockKey, L: Object> NameLocks<K, L> {
    /// Makes a name the owner's, if it is nobody's. It is, too, if it was before: so a claim may be made again, by whoever acts for
    /// the owner, and after whatever became of the one before.
    ///
    /// If it is another's the owner takes a place among those who wait, and [is told](Self::wake) when it is free.
    ///
    /// It asks the source, and not the cache. Dropping the future leaves a lock or not: the next claim finds it, and so does
    /// [`recover`](Self::recover).
    ///
    /// # Errors
    /// The key or the owner are nothing to make a lock of; the source or the store did not answer.
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
        // What the cache shows is likely there: that spares a write, and decides nothing.
        let mut found = match self.0.informer.get(name) {
            Some(_) => self.read_live(owner, key, name).await?,
            None => None,
        };
        for _ in 0..ATTEMPTS {
            if let Some(claim) = found {
                return Ok(claim);
            }
            match self.0.kinds.writer.create(lock, None).await {
                Ok(written) => return Ok(Claim::Held(self.held_lock(key.clone(), name, &written.object)?)),
                // Whoever's it is: one looks. If the lock of a lost answer comes only after that, the next try finds it.
                Err(WriteError::AlreadyExists { .. } | WriteError::UnknownOutcome { .. }) => {}
                Err(error) => return Err(error.into()),
            }
            found = self.read_live(owner, key, name).await?;
        }
        found.ok_or_else(|| LockError::Unsettled { name: name.clone() })
    }

    /// Whose it is now; `None` if there is no such lock.
    async fn read_live(
        &self,
        owner: &LockOwner,
        key: &K,
        name: &ObjectKey,
    ) -> Result<Option<Claim<K>>, LockError> {
        let waiters = &self.0.waiters;
        // First the place, then the look: who sees that it is taken is told when it is not.
        let is_queued = waiters.enqueue(name, &owner.key);
        let Some(lock) = self.get_live(name).await? else { return Ok(None) };
        Ok(Some(match self.claim_of(owner, key, name, &lock)? {
            Claim::Taken(taken) => {
                waiters.set_lock_version(name, lock.version());
                Claim::Taken(LockHolder { is_queued, ..taken })
            }
            held => held,
        }))
    }

    /// Gives a name back. Releasing it twice is as once, and what is another's by now is not touched.
    ///
    /// # Errors
    /// The store did not answer, or it is not known what it did: do it again.
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

/// Whether it is that lock, and not another of its name.
fn is_same_lock<K, L: Object>(lock: &Arc<L>, held: &HeldLock<K>) -> bool {
    lock.uid() == Some(held.uid().as_str())
}
