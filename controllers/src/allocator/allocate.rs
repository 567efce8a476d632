//! Allocation and release of members.

use std::sync::Arc;
use std::time::Duration;

use machinery_objects::{Object, ObjectKey};
use tokio::time::{Instant, timeout};

use super::allocations::Reservation;
use super::choice::{OwnedLock, choose};
use super::handle::{LockOperation, Owners};
use super::pool_queues::WaitingSince;
use super::scope::{ScopedMember, ScopedSpace};
use super::{AllocateError, Allocation, AllocationRequest, Allocator, Member, Pool, PoolWaiter};
use crate::locks::LockOwner;
use crate::{Claim, HeldLock, LockError, Released, Run, name_of_key};

/// Time limit for the start of the event loop.
const START_TIMEOUT: Duration = Duration::from_secs(1);
/// Time limit for building the state.
const READY_TIMEOUT: Duration = Duration::from_secs(30);

impl<M: Member, L: Object> Allocator<M, L> {
    /// Gives an owner one member of a pool, or puts it into the wait queue of the pool. Idempotent:
    /// call it in each run of the owner.
    ///
    /// An owner that holds a member of the pool keeps it. Its other locks are released: those
    /// outside the pool when their members are not [in use](AllocationRequest::in_use), spare ones
    /// when the kept one is [recorded](AllocationRequest::recorded).
    ///
    /// Dropping the future may leave a lock behind, which the next run of the owner finds.
    ///
    /// # Errors
    /// The allocator is not running, a lock cannot be read or written, or other controllers were
    /// faster in each attempt.
    pub async fn allocate(
        &self,
        owner: &impl Object,
        request: &AllocationRequest<'_, M>,
        run: &Run,
    ) -> Result<Allocation<M>, AllocateError> {
        let id = LockOwner::of(owner)?;
        if owner.is_deleting() {
            self.leave(owner);
            return Ok(Allocation::Deleting);
        }
        let mut held = self.inner.locks.held(owner)?;
        held.extend(self.recover(owner, request, &held).await?);
        let owned: Vec<_> = held.iter().map(owned_lock).collect();
        let choice = choose(&owned, request);
        for lock in choice.release.iter().filter_map(|at| held.get(*at)) {
            self.release(lock, run).await?;
        }
        match choice.keep.and_then(|at| held.into_iter().nth(at)) {
            Some(lock) => {
                // Not served: a member that is reserved for the owner passes to the next one.
                self.leave(owner);
                Ok(Allocation::Held(lock))
            }
            None => self.allocate_new(owner, &id, request.pool, run).await,
        }
    }

    /// Removes an owner from the wait queue, for one that needs no member any more or whose pool
    /// does not exist. Its locks stay.
    pub fn leave(&self, owner: &impl Object) {
        if let Ok(owner) = LockOwner::of(owner) {
            let mut allocations = self.inner.allocations.lock();
            allocations.leave(&owner, Instant::now());
            self.inner.wake_loop(&allocations);
        }
    }

    /// Removes an owner from the wait queue, and releases the locks for which `in_use` returns
    /// `false`.
    ///
    /// # Errors
    /// The owner cannot own locks, or a release failed.
    pub async fn release_all(
        &self,
        owner: &impl Object,
        in_use: impl Fn(&M) -> bool + Send,
        run: &Run,
    ) -> Result<(), AllocateError> {
        self.leave(owner);
        let held = self.inner.locks.held(owner)?;
        for lock in held.iter().filter(|lock| !in_use(lock.key())) {
            self.release(lock, run).await?;
        }
        Ok(())
    }

    async fn allocate_new(
        &self,
        owner: &impl Object,
        id: &LockOwner,
        pool: &Pool<M>,
        run: &Run,
    ) -> Result<Allocation<M>, AllocateError> {
        let inner = &*self.inner;
        let owners = self.running().await?;
        let space = ScopedSpace::of(pool, inner.locks.namespace_of(id)?.as_deref());
        for _ in 0..inner.settings.attempts {
            self.ready().await?;
            let (now, wall) = (Instant::now(), (inner.settings.clock)());
            let recorded = owners.waiting_since(id, pool);
            let since = recorded.map_or(WaitingSince::New(wall), WaitingSince::Recorded);
            let reserved = {
                let mut allocations = inner.allocations.lock();
                let reserved = allocations.reserve(&space, pool, id, since, now);
                inner.wake_loop(&allocations);
                reserved
            };
            match reserved {
                Reservation::Unready => {}
                Reservation::Full(since) => {
                    // The deletion of the owner may precede the queueing: no other event would
                    // dequeue it.
                    if !owners.exists(id) {
                        self.leave(owner);
                    }
                    let is_queued = since.is_some();
                    let since = since.or(recorded).unwrap_or(wall);
                    return Ok(Allocation::Full(PoolWaiter { since, is_queued }));
                }
                Reservation::Free(member) => {
                    if let Some(lock) = self.claim(owner, id, member).await? {
                        // Before the owner records it: the run after a failure has to see this
                        // lock.
                        run.wrote(lock.token(), inner.locks.informer());
                        return Ok(Allocation::New(lock));
                    }
                }
            }
        }
        Err(AllocateError::Contended { attempts: inner.settings.attempts })
    }

    /// Claims a reserved member. Returns `None` if another owner holds it.
    async fn claim(
        &self,
        owner: &impl Object,
        id: &LockOwner,
        member: ScopedMember<M>,
    ) -> Result<Option<HeldLock<M>>, LockError> {
        let inner = &*self.inner;
        let key = member.member.clone();
        let mut pending = PendingClaim { allocator: self, member, owner: id, ended: false };
        let since = Instant::now();
        let claimed = inner.locks.claim_unqueued(owner, &key, self.term.as_ref()).await;
        inner.observe(LockOperation::Claim, since, &claimed);
        pending.ended = true;
        let member = &pending.member;
        {
            // One guard for both: events delivered later are applied after the claim.
            let mut allocations = inner.allocations.lock();
            let now = Instant::now();
            if let Ok(Claim::Held(lock)) = &claimed {
                allocations.claim_succeeded(member, id, lock.token(), now);
            } else {
                allocations.claim_ended(member, id, self.is_locked(member), now);
            }
            inner.wake_loop(&allocations);
        }
        match claimed? {
            Claim::Held(lock) => Ok(Some(lock)),
            Claim::Taken(_) => Ok(None),
        }
    }

    /// Returns the lock that the owner records if the cache does not show it yet. A lost lock is
    /// created again if its member is free.
    async fn recover(
        &self,
        owner: &impl Object,
        request: &AllocationRequest<'_, M>,
        held: &[HeldLock<M>],
    ) -> Result<Option<HeldLock<M>>, LockError> {
        let Some((member, _)) = &request.recorded else { return Ok(None) };
        let is_cached = held.iter().any(|lock| request.records(lock.key(), lock.uid()));
        if is_cached || !request.pool.contains(member) {
            return Ok(None);
        }
        match self.inner.locks.claim_unqueued(owner, member, self.term.as_ref()).await? {
            Claim::Held(lock) => Ok(Some(lock)),
            Claim::Taken(_) => Ok(None),
        }
    }

    /// Releases a lock; a lock recreated by another owner stays.
    async fn release(&self, lock: &HeldLock<M>, run: &Run) -> Result<(), LockError> {
        let (locks, since) = (&self.inner.locks, Instant::now());
        let released = locks.release_fenced(lock, self.term.as_ref()).await;
        self.inner.observe(LockOperation::Release, since, &released);
        match released? {
            // Until the cache shows the deletion, the next run would decide on the lock again.
            Released::Free(token) | Released::Deleting(token) => run.wrote(&token, locks.informer()),
            Released::NotHeld => {}
        }
        Ok(())
    }

    /// Returns the owners once the event loop has begun, which starts beside the controller.
    async fn running(&self) -> Result<Arc<dyn Owners<M>>, AllocateError> {
        let running = async {
            loop {
                let listener = self.inner.ready.listen();
                if let Some(owners) = self.inner.owners.lock().clone() {
                    return owners;
                }
                listener.await;
            }
        };
        timeout(START_TIMEOUT, running).await.map_err(|_| AllocateError::NotRunning)
    }

    async fn ready(&self) -> Result<(), AllocateError> {
        let inner = &*self.inner;
        let ready = async {
            loop {
                let listener = inner.ready.listen();
                {
                    let mut allocations = inner.allocations.lock();
                    if allocations.is_ready() {
                        return;
                    }
                    allocations.request_build();
                }
                inner.recheck.notify_one();
                listener.await;
            }
        };
        let not_ready = |_| AllocateError::NotReady { after: READY_TIMEOUT };
        timeout(READY_TIMEOUT, ready).await.map_err(not_ready)
    }

    /// Returns whether the cache shows a lock of the member.
    pub(super) fn is_locked(&self, member: &ScopedMember<M>) -> bool {
        let name = name_of_key(&member.member).ok();
        let key = name.and_then(|name| ObjectKey::new(member.namespace.as_deref(), &name).ok());
        key.is_some_and(|key| self.inner.locks.informer().get(&key).is_some())
    }
}

/// Ends a claim on drop, also if the run is cancelled: then the result is unknown, and a sweep
/// checks it.
struct PendingClaim<'a, M: Member, L: Object> {
    allocator: &'a Allocator<M, L>,
    member: ScopedMember<M>,
    owner: &'a LockOwner,
    ended: bool,
}

impl<M: Member, L: Object> Drop for PendingClaim<'_, M, L> {
    fn drop(&mut self) {
        if !self.ended {
            let inner = &*self.allocator.inner;
            let mut allocations = inner.allocations.lock();
            allocations.claim_ended(&self.member, self.owner, true, Instant::now());
            inner.wake_loop(&allocations);
        }
    }
}

fn owned_lock<M: Member>(lock: &HeldLock<M>) -> OwnedLock<M> {
    OwnedLock { member: lock.key().clone(), uid: lock.uid().clone(), version: lock.version().cloned() }
}
