//! The shell around the core: one lock, two wait lists, a clock.
//!
//! The lock is held for one operation of the core, never across an await, a wake, the drop of a key
//! or a hook. User code that runs under it: `Eq` and `Clone` of the key, and the limiter.

use crate::add::{Add, Added};
use crate::clock::Clock;
use crate::config::{Config, DeadLetterHook, TenantOf};
use crate::core::{Core, HashedKey, Hasher, KeySource, Refusal, Signals, Stats};
use machinery_sync::{Mutex, MutexGuard, Notify, lock_with_spin};
use std::hash::Hash;

/// A key: compared, hashed, cloned (cheaply: once per hand-out) and sent to a worker.
///
/// Implemented for every suitable type. `Arc<str>`, small numbers and pairs of them make good keys.
/// Its `Eq` and `Clone` run under the queue's lock: they must not call the queue.
pub trait Key: Eq + Hash + Clone + Send + 'static {}

impl<K: Eq + Hash + Clone + Send + 'static> Key for K {}

pub(crate) struct Shared<K> {
    core: Mutex<Core<K>>,
    hasher: Hasher,
    tenants: Option<TenantOf<K>>,
    pub dead_letter: Option<DeadLetterHook<K>>,
    /// Waiters for a key.
    pub ready: Notify,
    /// Waiters for the end of a drain.
    pub drained: Notify,
    pub clock: Clock,
}

impl<K: Key> Shared<K> {
    pub(crate) fn new(mut config: Config<K>, clock: Clock) -> Self {
        let seed = config.seed.unwrap_or_else(entropy);
        let dead_letter = config.dead_letter.take();
        // The core only needs to know that there are tenants; `tenant_of` is called outside the
        // lock.
        let tenants = config.tenants.take();
        let core = Core::new(config, seed, tenants.is_some());
        Self {
            core: Mutex::new(core),
            hasher: Hasher::new(seed),
            tenants,
            dead_letter,
            ready: Notify::new(),
            drained: Notify::new(),
            clock,
        }
    }

    /// Runs one operation, then sends the signals it left.
    #[inline]
    pub(crate) fn with<R>(&self, operation: impl FnOnce(&mut Core<K>) -> R) -> R {
        // Spinning keeps the queue in one cache for a while; see docs/designs/003-workqueue.md.
        let mut guard = CoreGuard { shared: self, core: Some(lock_with_spin(&self.core)) };
        operation(guard.core.as_mut().expect("it is taken when the guard is dropped"))
    }

    #[inline]
    pub(crate) fn add(
        &self,
        known: HashedKey,
        given: &mut impl KeySource<K>,
        add: &Add,
    ) -> Result<Added, Refusal> {
        let now = self.clock.coarse();
        self.with(|core| core.add(now, || self.clock.exact(), known, given, add))
    }

    #[inline]
    pub(crate) fn hash(&self, key: &K) -> u32 {
        self.hasher.hash(key)
    }

    #[inline]
    pub(crate) fn hashed(&self, key: &K) -> HashedKey {
        let tenant = self.tenants.as_ref().map_or(0, |tenant_of| tenant_of(key));
        HashedKey { hash: self.hash(key), tenant }
    }

    #[inline]
    fn send(&self, signals: Signals) {
        for _ in 0..signals.ready {
            // No waiter is left: a later getter finds the remaining keys without a wake.
            if !self.ready.notify_one() {
                break;
            }
        }
        if signals.wake_all {
            self.ready.notify_all();
            self.drained.notify_all();
        }
        if signals.rearm {
            self.clock.rearm();
        }
    }
}

/// A guard of the lock. However it is dropped, also by a panic in a key's `Eq`, the pending signals
/// are sent after the lock is released.
struct CoreGuard<'a, K: Key> {
    shared: &'a Shared<K>,
    core: Option<MutexGuard<'a, Core<K>>>,
}

impl<K: Key> Drop for CoreGuard<'_, K> {
    #[inline]
    fn drop(&mut self) {
        let signals = self.core.as_mut().map(|core| core.signals()).unwrap_or_default();
        self.core = None;
        self.shared.send(signals);
    }
}

/// A queue's counts, without the type of its keys.
pub(crate) trait StatsSource: Send + Sync {
    fn stats(&self) -> Stats;
}

impl<K: Key> StatsSource for Shared<K> {
    fn stats(&self) -> Stats {
        let now = self.clock.exact();
        self.with(|core| core.stats(now))
    }
}

/// Returns a seed from the operating system, by way of std's only generator.
#[must_use]
#[expect(clippy::disallowed_types, reason = "this is the one place where a seed is not given but found")]
pub fn entropy() -> u64 {
    use std::hash::BuildHasher;
    std::collections::hash_map::RandomState::new().hash_one(0)
}
