//! The handle of an allocator.

use std::fmt;
use std::sync::Arc;
use std::time::Duration;

use jiff::Timestamp;
use machinery_objects::{Fence, Object};
use machinery_sync::{Mutex, Notify};
use machinery_workqueue::entropy;
use tokio::time::Instant;

use super::Member;
use super::allocations::Allocations;
use crate::LockError;
use crate::locks::{LockOwner, NameLocks};

/// Gives each of many owners any one member of a pool: an address of a subnet, a port, a VNI.
///
/// [`NameLocks`] decide: an owner has a member because it holds its lock. The state in memory only
/// suggests free members and orders the waiters; it is rebuilt from the caches. A crash loses
/// nothing.
///
/// Cheap to clone. A set of locks belongs to one allocator, and an allocator to one controller;
/// several processes may run one each.
pub struct Allocator<M: Member, L> {
    pub(super) inner: Arc<Inner<M, L>>,
    /// Fence of the leader's term for all writes of locks.
    pub(super) term: Option<Fence>,
}

pub(super) struct Inner<M: Member, L> {
    pub(super) locks: NameLocks<M, L>,
    pub(super) settings: AllocatorSettings,
    pub(super) allocations: Mutex<Allocations<M>>,
    /// Wakes the event loop: waiters were notified, or the state has to be rebuilt.
    pub(super) recheck: tokio::sync::Notify,
    /// Signals that the event loop has begun, and that the state is built.
    pub(super) ready: Notify,
    /// The owners, while the event loop runs.
    pub(super) owners: Mutex<Option<Arc<dyn Owners<M>>>>,
}

/// The cached owners.
pub(super) trait Owners<M: Member>: Send + Sync {
    fn exists(&self, owner: &LockOwner) -> bool;
    /// The time that the owner records since when it waits for a pool.
    fn waiting_since(&self, owner: &LockOwner, pool: &super::Pool<M>) -> Option<Timestamp>;
}

/// Settings of an allocator.
#[derive(Clone)]
#[non_exhaustive]
pub struct AllocatorSettings {
    /// Maximum number of waiters in all pools; more retry by themselves. Default: 1 048 576.
    pub waiters: usize,
    /// Maximum number of claims per run, if other controllers keep winning. Default: 16.
    pub attempts: usize,
    /// Seed of the choice of members. Default: from the operating system.
    pub seed: u64,
    /// The wall clock, for the times since when owners wait.
    pub clock: fn() -> Timestamp,
    /// Called after each write of a lock, for metrics. Default: does nothing.
    pub observer: Arc<dyn Fn(&LockCall) + Send + Sync>,
}

/// A claim or release of a lock by an allocator.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct LockCall {
    /// The operation.
    pub operation: LockOperation,
    /// Its duration.
    pub took: Duration,
    /// The error, if it failed. A claim of a member that another owner holds has succeeded.
    pub result: Result<(), LockError>,
}

/// An operation on a lock.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum LockOperation {
    /// A claim.
    Claim,
    /// A release.
    Release,
}

impl AllocatorSettings {
    /// Returns the default settings with a wall clock, usually `Timestamp::now`.
    #[must_use]
    pub fn new(clock: fn() -> Timestamp) -> Self {
        Self { waiters: 1 << 20, attempts: 16, seed: entropy(), clock, observer: Arc::new(|_| ()) }
    }
}

impl<M: Member, L: Object> Allocator<M, L> {
    /// Creates an allocator over name locks. It requires [`run`](Self::run).
    #[must_use]
    pub fn new(locks: &NameLocks<M, L>, settings: AllocatorSettings) -> Self {
        locks.notified_by_program();
        let inner = Inner {
            locks: locks.clone(),
            allocations: Mutex::new(Allocations::new(settings.waiters, settings.seed)),
            settings,
            recheck: tokio::sync::Notify::new(),
            ready: Notify::new(),
            owners: Mutex::new(None),
        };
        Self { inner: Arc::new(inner), term: None }
    }

    /// Returns this allocator with a fence for all writes of locks, that of a leader's
    /// [`Term`](crate::Term). The state is rebuilt: other leaders may have changed it.
    #[must_use]
    pub fn in_term(&self, fence: Option<&Fence>) -> Self {
        self.inner.allocations.lock().forget();
        self.inner.recheck.notify_one();
        Self { inner: self.inner.clone(), term: fence.cloned() }
    }

    /// Returns the locks.
    #[must_use]
    pub fn locks(&self) -> &NameLocks<M, L> {
        &self.inner.locks
    }

    /// Returns the number of owners that wait for a member.
    #[must_use]
    pub fn waiting(&self) -> usize {
        self.inner.allocations.lock().waiting()
    }
}

impl<M: Member, L> Inner<M, L> {
    /// Wakes the event loop if there is something to do for it.
    pub(super) fn wake_loop(&self, allocations: &Allocations<M>) {
        if allocations.has_notified() || allocations.has_unconfirmed() {
            self.recheck.notify_one();
        }
    }

    pub(super) fn observe<T>(&self, operation: LockOperation, since: Instant, result: &Result<T, LockError>) {
        let result = result.as_ref().map(drop).map_err(Clone::clone);
        (self.settings.observer)(&LockCall { operation, took: since.elapsed(), result });
    }
}

impl fmt::Debug for AllocatorSettings {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { waiters, attempts, seed, .. } = self;
        f.debug_struct("AllocatorSettings")
            .field("waiters", waiters)
            .field("attempts", attempts)
            .field("seed", seed)
            .finish_non_exhaustive()
    }
}

impl<M: Member, L> Clone for Allocator<M, L> {
    fn clone(&self) -> Self {
        Self { inner: self.inner.clone(), term: self.term.clone() }
    }
}

impl<M: Member, L> fmt::Debug for Allocator<M, L> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Allocator")
            .field("locks", &self.inner.locks)
            .field("settings", &self.inner.settings)
            .finish_non_exhaustive()
    }
}
