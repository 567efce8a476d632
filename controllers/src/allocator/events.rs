//! The event loop of an allocator: locks and owners update the state, and waiters are notified.

use std::future::pending;
use std::sync::Arc;
use std::time::Duration;

use futures::FutureExt as _;
use jiff::Timestamp;
use machinery_informers::Informer;
use machinery_informers::deliver::{Delivery, Events};
use machinery_objects::{Event, Object, ObjectKey, WriteToken};
use tokio::time::{Instant, MissedTickBehavior, interval, sleep};
use tokio_util::sync::CancellationToken;

use super::allocations::FormerWaiter;
use super::handle::Owners;
use super::scope::{ScopedMember, ScopedSpace};
use super::{Allocator, Member, Pool};
use crate::locks::LockOwner;
use crate::{Controller, key_of_name};

/// Delay of a sweep after the last event.
const IDLE: Duration = Duration::from_millis(10);
/// Maximum delay of a sweep while events keep arriving.
const BUSY: Duration = Duration::from_millis(200);
/// Interval of checks for free members that no waiter was notified of.
const CHECK_INTERVAL: Duration = Duration::from_secs(1);

/// The cause of the runs of notified waiters.
const CAUSE: &&str = &"a member is free";

impl<M: Member, L: Object> Allocator<M, L> {
    /// Follows locks and owners, and requests a run of each notified waiter, until the token is
    /// cancelled or an informer stops. Call it once at a time per allocator.
    ///
    /// `owners` contains all objects that the controller allocates for. `waiting` returns the pool
    /// that an owner waits for and since when, as the owner records it: so waiters keep their order
    /// across restarts.
    pub async fn run<O: Object, S>(
        &self,
        controller: &Controller<ObjectKey, S>,
        owners: &Informer<O>,
        waiting: impl Fn(&O) -> Option<(Pool<M>, Timestamp)> + Send + Sync + 'static,
        stopping: CancellationToken,
    ) {
        let inner = &*self.inner;
        let owners = Arc::new(CachedOwners { owners: owners.clone(), waiting });
        *inner.owners.lock() = Some(owners.clone());
        inner.ready.notify_all();
        let _detach = Detach(self);
        loop {
            while !inner.allocations.lock().needs_build() {
                if stopping.run_until_cancelled(inner.recheck.notified()).await.is_none() {
                    return;
                }
            }
            let synced = async {
                inner.locks.informer().synced().await.is_ok() && owners.owners.synced().await.is_ok()
            };
            if stopping.run_until_cancelled(synced).await != Some(true) {
                return;
            }
            // Before the rebuild, so that each change after its snapshot is delivered as an event;
            // and again for each one, so that all that is there is delivered again.
            let (Ok(locked), Ok(owned)) = (inner.locks.informer().events(), owners.owners.events()) else {
                return;
            };
            self.rebuild(&owners);
            if self.follow(controller, &*owners, locked, owned, &stopping).await.is_none() {
                return;
            }
        }
    }

    /// Follows events until the state is forgotten. Returns `None` at the end.
    async fn follow<O: Object, S>(
        &self,
        controller: &Controller<ObjectKey, S>,
        owners: &dyn Owners<M>,
        mut locked: Events<ObjectKey, Arc<L>>,
        mut owned: Events<ObjectKey, Arc<O>>,
        stopping: &CancellationToken,
    ) -> Option<()> {
        let inner = &*self.inner;
        let mut checks = interval(CHECK_INTERVAL);
        checks.set_missed_tick_behavior(MissedTickBehavior::Delay);
        let mut unconfirmed_since = None;
        while inner.allocations.lock().is_ready() {
            let notified = inner.allocations.lock().take_notified();
            for owner in notified {
                // A waiter that is not requested, because the controller does not run, is found by
                // the rebuild at its next start.
                stopping.run_until_cancelled(controller.request(owner.key, CAUSE)).await?;
            }
            let has_unconfirmed = inner.allocations.lock().has_unconfirmed();
            unconfirmed_since =
                unconfirmed_since.or_else(|| Some(Instant::now())).filter(|_| has_unconfirmed);
            if unconfirmed_since.is_some_and(|since| since.elapsed() >= BUSY) {
                unconfirmed_since = None;
                self.sweep(owners);
                continue;
            }
            let idle = async { if has_unconfirmed { sleep(IDLE).await } else { pending().await } };
            tokio::select! {
                biased;
                () = stopping.cancelled() => return None,
                () = inner.recheck.notified() => {}
                delivery = locked.next() => if let Delivery::Event(name, event) = delivery? {
                    self.on_lock(&name, &event);
                },
                delivery = owned.next() => if let Delivery::Event(_, event) = delivery? {
                    self.on_owner(&event);
                },
                _ = checks.tick() => inner.allocations.lock().notify_surplus(Instant::now()),
                () = idle => {
                    unconfirmed_since = None;
                    self.sweep(owners);
                }
            }
        }
        Some(())
    }

    fn sweep(&self, owners: &dyn Owners<M>) {
        let is_locked = |member: &ScopedMember<M>, created: Option<&WriteToken>| {
            created.is_some_and(|created| !self.has_reached(created)) || self.is_locked(member)
        };
        let mut allocations = self.inner.allocations.lock();
        allocations.sweep(is_locked, |owner| owners.exists(owner), Instant::now());
    }

    /// Builds the state from the caches. Waiters regain their positions, ahead of new ones.
    fn rebuild<O: Object, F>(&self, owners: &CachedOwners<O, F>)
    where
        F: Fn(&O) -> Option<(Pool<M>, Timestamp)>,
    {
        let locks = &self.inner.locks;
        let cached = owners.owners.read();
        let former = cached.iter().filter_map(|(_, object)| {
            let owner = LockOwner::of(&**object).ok().filter(|_| !object.is_deleting())?;
            let (pool, since) = (owners.waiting)(object)?;
            let space = ScopedSpace::of(&pool, locks.namespace_of(&owner).ok()?.as_deref());
            Some(FormerWaiter { since, owner, pool, space })
        });
        let former: Vec<_> = former.collect();
        let locked = locks.informer().read();
        let locked = locked.iter().filter_map(|(name, _)| member_of(name));
        self.inner.allocations.lock().rebuild(locked, former, Instant::now());
        self.inner.ready.notify_all();
    }

    /// Returns whether the cache of locks has reached a write.
    fn has_reached(&self, created: &WriteToken) -> bool {
        let reached = self.inner.locks.informer().wait_for(created, Duration::ZERO).now_or_never();
        reached.is_some_and(|reached| reached.is_ok())
    }

    fn on_lock(&self, name: &ObjectKey, event: &Event<Arc<L>>) {
        // The locks warn of malformed names.
        let Some(member) = member_of(name) else { return };
        let mut allocations = self.inner.allocations.lock();
        if event.is_present() {
            allocations.lock_seen(&member);
        } else {
            allocations.lock_gone(&member, Instant::now());
        }
    }

    /// Dequeues a deleted owner. A recreated one is another waiter. A waiter that was created and
    /// deleted between two deliveries is found by a sweep.
    fn on_owner<O: Object>(&self, event: &Event<Arc<O>>) {
        match event {
            Event::Deleted { last, .. } | Event::Left { last, .. } => self.leave(&**last),
            Event::Updated { old, object } if old.uid() != object.uid() => self.leave(&**old),
            _ => {}
        }
    }
}

fn member_of<M: Member>(lock: &ObjectKey) -> Option<ScopedMember<M>> {
    Some(ScopedMember::of(lock, key_of_name(lock.name()).ok()?))
}

struct CachedOwners<O, F> {
    owners: Informer<O>,
    waiting: F,
}

impl<M, O, F> Owners<M> for CachedOwners<O, F>
where
    M: Member,
    O: Object,
    F: Fn(&O) -> Option<(Pool<M>, Timestamp)> + Send + Sync,
{
    fn exists(&self, owner: &LockOwner) -> bool {
        self.owners.get(&owner.key).is_some_and(|now| now.uid() == Some(owner.uid.as_str()))
    }

    fn waiting_since(&self, owner: &LockOwner, pool: &Pool<M>) -> Option<Timestamp> {
        let object = self.owners.get(&owner.key).filter(|now| now.uid() == Some(owner.uid.as_str()))?;
        (self.waiting)(&object).filter(|(of, _)| of.name == pool.name).map(|(_, since)| since)
    }
}

/// Ends the event loop on drop, also if it is cancelled: later requests fail.
struct Detach<'a, M: Member, L: Object>(&'a Allocator<M, L>);

impl<M: Member, L: Object> Drop for Detach<'_, M, L> {
    fn drop(&mut self) {
        *self.0.inner.owners.lock() = None;
        self.0.inner.allocations.lock().forget();
    }
}
