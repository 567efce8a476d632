//! Requests for a member, and their results.

use std::fmt;
use std::time::Duration;

use jiff::Timestamp;
use machinery_objects::Uid;

use super::{Member, Pool};
use crate::{HeldLock, LockError};

/// A request for any one member of a pool.
pub struct AllocationRequest<'a, M: Member> {
    pub(super) pool: &'a Pool<M>,
    pub(super) recorded: Option<(M, Option<Uid>)>,
    in_use: Box<dyn Fn(&M) -> bool + Send + Sync + 'a>,
}

impl<'a, M: Member> AllocationRequest<'a, M> {
    /// Requests any one member of a pool.
    #[must_use]
    pub fn of(pool: &'a Pool<M>) -> Self {
        Self { pool, recorded: None, in_use: Box::new(|_| false) }
    }

    /// Names the member that the owner records, usually in its status. It is kept while it is in
    /// the pool, and its lock is never released while it is recorded; a lost lock of it is created
    /// again if the member is free.
    #[must_use]
    pub fn recorded(mut self, member: Option<M>) -> Self {
        self.recorded = member.map(|member| (member, None));
        self
    }

    /// Like [`recorded`](Self::recorded), with the UID of the lock that the owner records beside
    /// the member. On a server without fences, record it: two controllers of one owner could
    /// disagree on its member otherwise.
    #[must_use]
    pub fn recorded_under(mut self, member: Option<M>, lock: Option<Uid>) -> Self {
        self.recorded = member.map(|member| (member, lock));
        self
    }

    /// Sets the members that are still in use somewhere, such as by an interface on a node. Their
    /// locks are released after that.
    #[must_use]
    pub fn in_use(mut self, in_use: impl Fn(&M) -> bool + Send + Sync + 'a) -> Self {
        self.in_use = Box::new(in_use);
        self
    }

    /// Returns whether the owner records this lock.
    pub(super) fn records(&self, member: &M, lock: &Uid) -> bool {
        self.recorded.as_ref().is_some_and(|(recorded, under)| {
            recorded == member && under.as_ref().is_none_or(|under| under == lock)
        })
    }

    pub(super) fn uses(&self, member: &M, lock: &Uid) -> bool {
        self.records(member, lock) || (self.in_use)(member)
    }
}

/// Result of a request.
#[derive(Clone, Debug, PartialEq)]
#[must_use = "the owner has to record its member, or that it waits"]
pub enum Allocation<M> {
    /// The owner holds this member: record it under the fence of the lock, unless it is recorded.
    Held(HeldLock<M>),
    /// The owner holds this member since this call: record it under the fence of the lock.
    New(HeldLock<M>),
    /// All members are taken: record that the owner waits.
    Full(PoolWaiter),
    /// The owner is being deleted: it keeps its locks, which are deleted with it.
    Deleting,
}

impl<M> Allocation<M> {
    /// Returns the lock of the member, if the owner holds one.
    pub const fn lock(&self) -> Option<&HeldLock<M>> {
        match self {
            Self::Held(lock) | Self::New(lock) => Some(lock),
            Self::Full(_) | Self::Deleting => None,
        }
    }
}

/// State of an owner that waits for a member.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct PoolWaiter {
    /// The time since when the owner waits. An owner that records it with all digits keeps its
    /// position across restarts.
    pub since: Timestamp,
    /// Whether the owner is in the wait queue, and runs again when a member is free. `false`: the
    /// limit of waiters is reached, and the owner has to retry by itself.
    pub is_queued: bool,
}

/// Error of a request.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum AllocateError {
    /// The allocator belongs to no running controller, so nobody would notify its waiters.
    #[error(
        "the allocator is not running: add it to the controller with `allocating`, or call `Allocator::run`"
    )]
    NotRunning,
    /// The caches of locks and owners did not sync in time.
    #[error("the locks were not read within {} s: does their informer run, and may it list them?", .after.as_secs())]
    NotReady {
        /// The time limit.
        after: Duration,
    },
    /// Other controllers were faster in each attempt: retry.
    #[error("each of {attempts} members was locked by another controller first: retry")]
    Contended {
        /// The number of attempts.
        attempts: usize,
    },
    /// The lock cannot be read or written.
    #[error(transparent)]
    Lock(#[from] LockError),
}

impl<M: Member> fmt::Debug for AllocationRequest<'_, M> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("AllocationRequest")
            .field("pool", &self.pool)
            .field("recorded", &self.recorded)
            .finish_non_exhaustive()
    }
}
