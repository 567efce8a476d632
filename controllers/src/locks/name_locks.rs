//! The handle of name locks, and its builder.

use std::fmt;
use std::future::Future;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering::Relaxed};

use futures::future::BoxFuture;
use machinery_informers::{Index, Informer};
use machinery_objects::{
    Fence, Freshness, Kind, ListError, ListWatch, Object, ObjectKey, OwnerRef, Uid, Writer,
};
use tokio_util::sync::CancellationToken;

use super::counts::{LockCounters, LockCounts};
use super::held_lock::token;
use super::holder::{LockOwner, check_scopes, holder, is_held_by};
use super::wake_status::WakeStatus;
use super::{Claim, HeldLock, LockError, LockHolder, LockKey, LockScopeError, Waiters, name_of_key};

/// Names that one owner holds at a time: of hosts, of addresses, of ports.
///
/// A lock is an object named after its [key](LockKey). Creating it is the claim; its owner
/// reference identifies the holder, and its UID is the fence of writes under it. Garbage collection
/// deletes locks of deleted owners.
///
/// Cheap to clone. The state in memory is a cache and the wait queues: a crash loses nothing.
pub struct NameLocks<K, L>(pub(super) Arc<Inner<K, L>>);

/// Kinds of the locks and their owners, and the writer of locks.
pub struct LockKinds<L> {
    /// Kind of the locks.
    pub kind: Kind,
    /// Kind of the owners.
    pub owners: Kind,
    /// Writer of locks.
    pub writer: Arc<dyn Writer<L>>,
}

/// Builds [`NameLocks`]. Created by [`NameLocks::builder`].
#[must_use = "a builder does nothing until `build` is called"]
pub struct LocksBuilder<K, L> {
    kinds: LockKinds<L>,
    informer: machinery_informers::Builder<L>,
    get_lock: Box<GetLock<L>>,
    make: Box<BuildLock<K, L>>,
    namespace: Option<Arc<str>>,
    waiters: usize,
}

type GetLock<L> = dyn Fn(ObjectKey) -> BoxFuture<'static, Result<Option<Arc<L>>, ListError>> + Send + Sync;
type BuildLock<K, L> = dyn Fn(&K, &ObjectKey, OwnerRef) -> L + Send + Sync;

pub(super) struct Inner<K, L> {
    pub(super) kinds: LockKinds<L>,
    pub(super) informer: Informer<L>,
    pub(super) by_owner: Index<Uid>,
    pub(super) waiters: Waiters<ObjectKey>,
    pub(super) misnamed: AtomicUsize,
    pub(super) counters: LockCounters,
    pub(super) wakes: WakeStatus,
    get_lock: Box<GetLock<L>>,
    make: Box<BuildLock<K, L>>,
    namespace: Option<Arc<str>>,
}

/// Default limit of waiters.
const DEFAULT_WAITERS_LIMIT: usize = 1 << 16;

impl<K: LockKey, L: Object> NameLocks<K, L> {
    /// Returns a builder for name locks with this source of locks. `make` creates the lock of a key
    /// with the given name and owner reference.
    pub fn builder<S>(
        kinds: LockKinds<L>,
        source: Arc<dyn ListWatch<S>>,
        make: impl Fn(&K, &ObjectKey, OwnerRef) -> L + Send + Sync + 'static,
    ) -> LocksBuilder<K, L>
    where
        S: Into<Arc<L>> + Send + 'static,
    {
        let informer = Informer::builder(source.clone());
        // Never from the cache: without fences, a stale one would give a released name two holders.
        let get_lock = move |name: ObjectKey| -> BoxFuture<'static, _> {
            let source = source.clone();
            Box::pin(async move { Ok(source.get(&name, Freshness::Newest).await?.map(Into::into)) })
        };
        let (get_lock, make) = (Box::new(get_lock), Box::new(make));
        LocksBuilder { kinds, informer, get_lock, make, namespace: None, waiters: DEFAULT_WAITERS_LIMIT }
    }

    /// Runs the informer of the locks until the token is cancelled, and logs a warning for each
    /// misnamed lock.
    pub fn run(&self, stopping: CancellationToken) -> impl Future<Output = ()> + Send + use<K, L> {
        let cache = self.0.informer.run(stopping.clone());
        let locks = self.clone();
        async move {
            tokio::join!(cache, locks.warn_of_misnamed(stopping));
        }
    }

    /// Returns the number of locks with names that encode no key, while [`run`](Self::run) is
    /// active; [`strays`](Self::strays) lists them.
    #[must_use]
    pub fn misnamed(&self) -> usize {
        self.0.misnamed.load(Relaxed)
    }

    /// Returns the informer of the locks. With [`Builder::owning`](crate::Builder::owning), owners
    /// are reconciled on events of their locks.
    #[must_use]
    pub fn informer(&self) -> &Informer<L> {
        &self.0.informer
    }

    /// Returns the waiters.
    #[must_use]
    pub fn waiters(&self) -> &Waiters<ObjectKey> {
        &self.0.waiters
    }

    /// Returns whether releases are handed over to waiters, because [`wake`](Self::wake) was
    /// called. Without it a waiter sleeps until another event of its owner.
    #[must_use]
    pub fn notifies_waiters(&self) -> bool {
        self.0.wakes.is_called()
    }

    /// Declares that the program notifies waiters by itself, without [`wake`](Self::wake).
    /// Otherwise the first waiter is logged as an error.
    pub fn notified_by_program(&self) {
        self.0.wakes.call();
    }

    /// Returns the counts of this process.
    #[must_use]
    pub fn counts(&self) -> LockCounts {
        self.0.counters.counts()
    }

    /// Returns a sample source for metrics that holds a weak reference.
    #[cfg(feature = "prometheus")]
    pub(crate) fn metrics_source(&self) -> impl Fn() -> Option<super::LockSample> + Send + Sync + use<K, L> {
        let inner = Arc::downgrade(&self.0);
        move || {
            let inner = inner.upgrade()?;
            let (counts, waiters) = (inner.counters.counts(), inner.waiters.len());
            let misnamed = inner.misnamed.load(Relaxed);
            Some(super::LockSample { counts, waiters, misnamed, locks: inner.informer.read().len() })
        }
    }

    /// Returns the key of the lock object for an owner.
    pub(super) fn name(&self, owner: &LockOwner, key: &K) -> Result<ObjectKey, LockError> {
        let namespace = owner.namespace(&self.0.kinds.kind, self.0.namespace.as_deref())?;
        let name = name_of_key(key)?;
        ObjectKey::new(namespace, &name).map_err(|error| LockError::Key(error.into()))
    }

    /// Creates a lock object that is not written yet.
    pub(super) fn make(&self, owner: &LockOwner, key: &K, name: &ObjectKey) -> Result<L, LockError> {
        let lock = (self.0.make)(key, name, owner.reference(&self.0.kinds.owners));
        if lock.key() == *name && is_held_by(&lock, owner) {
            Ok(lock)
        } else {
            Err(LockError::Made { name: name.clone() })
        }
    }

    /// Reads the lock from the source.
    pub(super) async fn get_live(&self, name: &ObjectKey) -> Result<Option<Arc<L>>, LockError> {
        Ok((self.0.get_lock)(name.clone()).await?)
    }

    /// Returns the result of a claim by an owner, given the present lock.
    pub(super) fn claim_of(
        &self,
        owner: &LockOwner,
        key: &K,
        name: &ObjectKey,
        lock: &L,
    ) -> Result<Claim<K>, LockError> {
        if is_held_by(lock, owner) {
            return Ok(Claim::Held(self.held_lock(key.clone(), name, lock)?));
        }
        Ok(Claim::Taken(LockHolder {
            owner: holder(lock),
            is_deleting: lock.is_deleting(),
            is_queued: false,
        }))
    }

    pub(super) fn held_lock(&self, key: K, name: &ObjectKey, lock: &L) -> Result<HeldLock<K>, LockError> {
        let unstamped = || LockError::Unstamped { name: name.clone() };
        let uid = lock.uid().and_then(Uid::new).ok_or_else(unstamped)?;
        let token = token(lock, name, &uid).ok_or_else(unstamped)?;
        let LockKinds { kind, writer, .. } = &self.0.kinds;
        let fence = Fence { kind: kind.clone(), key: name.clone(), uid, epoch: None, besides: None };
        Ok(HeldLock { key, fence, has_fences: writer.capabilities().fences, token })
    }
}

impl<K: LockKey, L: Object> LocksBuilder<K, L> {
    /// Sets the namespace for locks of owners without a namespace.
    pub fn namespace(mut self, namespace: &str) -> Self {
        self.namespace = Some(namespace.into());
        self
    }

    /// Sets the limit of waiters; claims beyond it report that they are not queued. Default: 65
    /// 536.
    pub fn waiters(mut self, limit: usize) -> Self {
        self.waiters = limit;
        self
    }

    /// Builds the locks. They require [`run`](NameLocks::run).
    ///
    /// # Errors
    /// The owners cannot own the locks, because of the scopes of the two kinds.
    pub fn build(self) -> Result<NameLocks<K, L>, LockScopeError> {
        let Self { kinds, mut informer, get_lock, make, namespace, waiters } = self;
        check_scopes(&kinds.kind, &kinds.owners, namespace.is_some())?;
        let by_owner = informer.index(|lock: &L| holder(lock).map(|owner| owner.uid));
        let (informer, waiters) = (informer.build(), Waiters::new(waiters));
        Ok(NameLocks(Arc::new(Inner {
            kinds,
            informer,
            by_owner,
            waiters,
            misnamed: AtomicUsize::default(),
            counters: LockCounters::default(),
            wakes: WakeStatus::default(),
            get_lock,
            make,
            namespace,
        })))
    }
}

impl<K, L> Clone for NameLocks<K, L> {
    fn clone(&self) -> Self {
        Self(self.0.clone())
    }
}

impl<K, L> fmt::Debug for NameLocks<K, L> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("NameLocks")
            .field("locks", &self.0.kinds.kind)
            .field("owners", &self.0.kinds.owners)
            .field("waiters", &self.0.waiters)
            .finish_non_exhaustive()
    }
}

impl<L> fmt::Debug for LockKinds<L> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("LockKinds")
            .field("kind", &self.kind)
            .field("owners", &self.owners)
            .finish_non_exhaustive()
    }
}

impl<K, L> fmt::Debug for LocksBuilder<K, L> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("LocksBuilder").field("kinds", &self.kinds).finish_non_exhaustive()
    }
}
