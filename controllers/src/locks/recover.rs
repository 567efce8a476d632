//! Recovery of held locks, and detection of stray ones.

use std::sync::atomic::Ordering::Relaxed;

use machinery_informers::Informer;
use machinery_informers::deliver::Delivery;
use machinery_objects::{Event, Object, ObjectKey, OwnerRef, Scope};

use tokio_util::sync::CancellationToken;

use super::holder::{LockOwner, holder, is_held_by};
use super::{HeldLock, KeyError, LockError, LockKey, NameLocks, key_of_name};

/// A lock without a valid name or owner. It blocks its own name only.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct StrayLock {
    /// Key of the lock.
    pub lock: ObjectKey,
    /// The defect.
    pub reason: StrayReason,
}

/// Defect of a stray lock.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum StrayReason {
    /// The name of the lock encodes no key: another client, or another version of the program,
    /// created it.
    #[error("its name encodes no key: {0}")]
    Misnamed(KeyError),
    /// The lock has no controlling owner, so garbage collection never deletes it: find its creator
    /// and delete it.
    #[error("it has no controlling owner")]
    Unowned,
    /// The owner of the lock does not exist. Garbage collection deletes the lock soon, if it runs.
    #[error("its owner {} {} does not exist", .0.kind, .0.name)]
    OwnerGone(OwnerRef),
}

impl<K: LockKey, L: Object> NameLocks<K, L> {
    /// Returns the names that an owner holds, from the cache.
    ///
    /// # Errors
    /// The object cannot own locks.
    pub fn held(&self, owner: &impl Object) -> Result<Vec<HeldLock<K>>, LockError> {
        let owner = LockOwner::of(owner)?;
        let locks = self.0.informer.read();
        let of_it = locks.by(&self.0.by_owner, &owner.uid);
        let held = of_it.filter(|(_, lock)| is_held_by(&***lock, &owner)).filter_map(|(name, lock)| {
            let key = key_of_name(name.name()).ok()?; // else it is a stray lock
            self.held_lock(key, name, lock).ok()
        });
        Ok(held.collect())
    }

    /// Releases the names that an owner holds and `wants` rejects, and returns the remaining ones.
    /// Finds locks of claims that were never completed.
    ///
    /// The cache may lag behind. It suffices to call this in each run of the owner, and to
    /// reconcile the owner on events of its locks by [`Builder::owning`](crate::Builder::owning).
    ///
    /// # Errors
    /// The object cannot own locks, or a release failed.
    pub async fn recover(
        &self,
        owner: &impl Object,
        wants: impl Fn(&K) -> bool + Send,
    ) -> Result<Vec<HeldLock<K>>, LockError> {
        let (wanted, unwanted): (Vec<_>, Vec<_>) =
            self.held(owner)?.into_iter().partition(|held| wants(held.key()));
        for held in &unwanted {
            self.release(held).await?;
        }
        Ok(wanted)
    }

    /// Logs and counts misnamed locks. Other locks are not affected.
    pub(super) async fn warn_of_misnamed(self, stopping: CancellationToken) {
        let Ok(mut events) = self.0.informer.events() else { return };
        let misnamed = &self.0.misnamed;
        misnamed.store(0, Relaxed);
        while let Some(Some(delivered)) = stopping.run_until_cancelled(events.next()).await {
            let Delivery::Event(name, event) = delivered else { continue };
            let Err(error) = key_of_name::<K>(name.name()) else { continue };
            match event {
                Event::Added { .. } => {
                    misnamed.fetch_add(1, Relaxed);
                    tracing::warn!(lock = %name, %error, "the name of a lock encodes no key: find its creator, and delete it");
                }
                Event::Updated { .. } => {}
                _ => drop(misnamed.fetch_sub(1, Relaxed)),
            }
        }
    }

    /// Returns the stray locks, given the existing owners. Both caches may lag, so a recent
    /// creation or deletion may not be reflected.
    #[must_use]
    pub fn strays<O: Object>(&self, owners: &Informer<O>) -> Vec<StrayLock> {
        let locks = self.0.informer.read();
        let strays = locks.iter().filter_map(|(name, lock)| {
            let reason = self.stray_reason(name, &**lock, owners)?;
            Some(StrayLock { lock: name.clone(), reason })
        });
        let mut strays: Vec<_> = strays.collect();
        strays.sort_unstable_by(|one, other| one.lock.cmp(&other.lock));
        strays
    }

    fn stray_reason<O: Object>(
        &self,
        name: &ObjectKey,
        lock: &L,
        owners: &Informer<O>,
    ) -> Option<StrayReason> {
        if let Err(error) = key_of_name::<K>(name.name()) {
            return Some(StrayReason::Misnamed(error));
        }
        let Some(owner) = holder(lock) else { return Some(StrayReason::Unowned) };
        let kind = &self.0.kinds.owners;
        if !owner.is_a(kind) {
            return None; // owners of other kinds are unknown here
        }
        let namespace = name.namespace().filter(|_| kind.scope() == Scope::Namespaced);
        let there = ObjectKey::new(namespace, &owner.name).ok().and_then(|key| owners.get(&key));
        let is_it = there.is_some_and(|there| there.uid() == Some(owner.uid.as_str()));
        // Reported, never deleted: this cache may lag, and garbage collection reads live.
        (!is_it).then_some(StrayReason::OwnerGone(owner))
    }
}
