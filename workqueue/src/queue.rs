//! The queue handle: add, get, cancel, close, drain and inspection.

use crate::add::{Add, AddError, Added};
use crate::batch::Batch;
use crate::clock::{Clock, ManualClock};
use crate::config::{Config, ConfigError};
use crate::core::{KeyStatus, Stats, Take};
use crate::shared::{Key, Shared, StatsSource};
use crate::work::Work;
use std::fmt;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;
use std::time::Duration;

/// A work queue with one entry per key (client-go: `TypedRateLimitingInterface`). A cheap handle:
/// clones share the queue.
pub struct Queue<K: Key> {
    pub(crate) shared: Arc<Shared<K>>,
}

impl<K: Key> Queue<K> {
    /// Creates a queue whose time is moved by the returned clock. For simulations, tests, and
    /// runtimes other than tokio.
    ///
    /// # Errors
    /// If a setting is invalid.
    pub fn manual(config: Config<K>) -> Result<(Self, ManualClock<K>), ConfigError> {
        config.check()?;
        let shared = Arc::new(Shared::new(config, Clock::Manual));
        Ok((Self { shared: shared.clone() }, ManualClock::new(shared)))
    }

    /// Adds a key: now, or debounced if the queue is configured so.
    ///
    /// # Errors
    /// If the queue is closed or full. The error holds the key.
    #[inline]
    pub fn add(&self, key: K) -> Result<Added, AddError<K>> {
        self.add_with(key, Add::new())
    }

    /// Adds a key after `delay` (client-go: `AddAfter`). An earlier time of a queued or delayed key
    /// stands.
    ///
    /// # Errors
    /// If the queue is closed or full. The error holds the key.
    #[inline]
    pub fn add_after(&self, key: K, delay: Duration) -> Result<Added, AddError<K>> {
        self.add_with(key, Add::new().after(delay))
    }

    /// Adds a key with the options of `add`.
    ///
    /// # Errors
    /// If the queue is closed or full. The error holds the key.
    #[inline]
    pub fn add_with(&self, key: K, add: Add) -> Result<Added, AddError<K>> {
        let known = self.shared.hashed(&key);
        let mut key = Some(key);
        let added = self.shared.add(known, &mut key, &add);
        added.map_err(|refusal| AddError::new(refusal, &mut key))
    }

    /// Adds a key with the options of `add`, and clones it only if it is new.
    ///
    /// # Errors
    /// If the queue is closed or full. The error holds a clone of the key.
    #[inline]
    pub fn add_ref(&self, mut key: &K, add: Add) -> Result<Added, AddError<K>> {
        let known = self.shared.hashed(key);
        let added = self.shared.add(known, &mut key, &add);
        added.map_err(|refusal| AddError::new(refusal, &mut key))
    }

    /// Adds many keys with the options of `add`, in order, a few per lock. Returns the number added
    /// or merged.
    ///
    /// # Errors
    /// If the queue is closed or full. The error holds the first key that was refused; those before
    /// it are added, and those after it are not taken from `keys` or are dropped.
    pub fn add_all(&self, keys: impl IntoIterator<Item = K>, add: Add) -> Result<usize, AddError<K>> {
        // Enough to share the cost of the lock, and few enough that workers get it in between.
        const CHUNK: usize = 64;
        let mut keys = keys.into_iter().fuse();
        let mut count = 0;
        let mut chunk = Vec::with_capacity(keys.size_hint().0.clamp(1, CHUNK));
        loop {
            // Hashed before the lock is taken; and `keys` is the caller's code, which may itself
            // use the queue.
            chunk.extend(keys.by_ref().take(CHUNK).map(|key| (self.shared.hashed(&key), Some(key))));
            if chunk.is_empty() {
                return Ok(count);
            }
            let clock = &self.shared.clock;
            let now = clock.coarse();
            let refused = self.shared.with(|core| {
                chunk.iter_mut().find_map(|(known, key)| {
                    let added = core.add(now, || clock.exact(), *known, key, &add);
                    count += usize::from(added.is_ok());
                    added.err().map(|refusal| (refusal, key))
                })
            });
            if let Some((refusal, key)) = refused {
                return Err(AddError::new(refusal, key));
            }
            // Merged keys are dropped here, where the lock is not held.
            chunk.clear();
        }
    }

    /// Waits for a key. Returns `None` once the queue is closed or drained and no key will follow.
    ///
    /// Waiters are woken in turn. Cancel-safe: no key is taken before the future completes, and a
    /// dropped waiter passes its wake on to the next.
    pub async fn get(&self) -> Option<Work<K>> {
        let take = || self.shared.with(|core| core.take(self.shared.clock.coarse(), true));
        let handout = self.wait(take).await?;
        Some(Work::new(self.shared.clone(), handout))
    }

    /// Returns a key if one is ready.
    pub fn try_get(&self) -> Option<Work<K>> {
        match self.shared.with(|core| core.take(self.shared.clock.coarse(), false)) {
            Take::Handout(handout) => Some(Work::new(self.shared.clone(), handout)),
            Take::Empty | Take::Ended | Take::Yield => None,
        }
    }

    /// Waits for a key, and takes up to `max` ready keys (0 counts as 1). Returns `None` as
    /// [`Queue::get`] does.
    ///
    /// Cancel-safe: dropping the future loses nothing.
    pub async fn get_batch(&self, max: usize) -> Option<Batch<K>> {
        let take = || {
            let now = self.shared.clock.coarse();
            self.shared.with(|core| match core.take(now, true) {
                Take::Handout(first) => {
                    let limit = max.clamp(1, core.ready_len() + 1);
                    let mut handouts = Vec::with_capacity(limit);
                    handouts.push(first);
                    while handouts.len() < limit {
                        // A key whose clone panics stays ready, and the next get panics: the keys
                        // before it are taken already.
                        let next = catch_unwind(AssertUnwindSafe(|| core.take(now, false)));
                        let Ok(Take::Handout(next)) = next else { break };
                        handouts.push(next);
                    }
                    Take::Handout(handouts)
                }
                Take::Empty => Take::Empty,
                Take::Ended => Take::Ended,
                Take::Yield => Take::Yield,
            })
        };
        let handouts = self.wait(take).await?;
        Some(Batch::new(self.shared.clone(), handouts))
    }

    /// Removes a queued key: ready, delayed, or added while in flight. Returns whether there was
    /// one.
    ///
    /// A run in flight continues, and its completion counts: a failure is retried.
    pub fn cancel(&self, key: &K) -> bool {
        let hash = self.shared.hash(key);
        let now = self.shared.clock.coarse();
        // The key is dropped at the end, without the lock.
        let (cancelled, _key) = self.shared.with(|core| core.cancel(now, hash, key));
        cancelled
    }

    /// Resets the failures of a key in any state (client-go: `Forget`), so that its next back-off
    /// is the first. Removes no run. Returns the number of failures before the reset.
    pub fn forget(&self, key: &K) -> u16 {
        let hash = self.shared.hash(key);
        self.shared.with(|core| core.forget(hash, key))
    }

    /// Refuses adds from now on (client-go: `ShutDown`). Ready keys are still handed out, then
    /// [`Queue::get`] returns `None`. Ends a drain.
    ///
    /// It does not wait: a key that fails after the last worker has stopped stays in the queue,
    /// where [`Queue::list`] shows it. To complete all work, use [`Queue::drain`].
    pub fn close(&self) {
        self.shared.with(|core| core.close());
    }

    /// Refuses adds, and waits up to `within` until no key is ready, in flight, or delayed to
    /// before the deadline (client-go: `ShutDownWithDrain`). Then [`Queue::get`] returns `None`,
    /// and the remaining keys are in the result. [`Queue::close`] ends it early, with the keys that
    /// remain then.
    ///
    /// Workers must continue to take keys meanwhile. Dropping the future does not undo it: the
    /// queue continues to drain, and stops at the deadline.
    pub async fn drain(&self, within: Duration) -> Drained<K> {
        let now = self.shared.clock.exact();
        self.shared.with(|core| core.drain(now, within));
        loop {
            // Registered before the check, so that the end of the drain is not missed between them.
            let drained = self.shared.drained.listen();
            if !self.shared.with(|core| core.drains()) {
                break;
            }
            drained.await;
        }
        // A close may have ended the drain: then the queue is not stopped, and its clock has to
        // continue.
        if self.shared.with(|core| core.is_stopped()) {
            self.shared.clock.stop().await;
        }
        Drained { leftovers: self.list() }
    }

    /// Returns the number of ready keys, without those delayed or in flight.
    pub fn len(&self) -> usize {
        self.shared.with(|core| core.ready_len())
    }

    /// Returns whether no key is ready.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Returns the counters and current sizes.
    pub fn stats(&self) -> Stats {
        self.shared.stats()
    }

    /// Returns the current status of one key.
    pub fn status(&self, key: &K) -> Option<KeyStatus<K>> {
        let hash = self.shared.hash(key);
        let now = self.shared.clock.exact();
        self.shared.with(|core| {
            core.advance(now);
            core.status(hash, key)
        })
    }

    /// Returns the status of every key, in no particular order.
    ///
    /// Reads a thousand keys per lock, so a large queue continues to work; a key that changes state
    /// meanwhile is listed in one of its states.
    pub fn list(&self) -> Vec<KeyStatus<K>> {
        const CHUNK: u32 = 1024;
        let now = self.shared.clock.exact();
        self.shared.with(|core| core.advance(now));
        let mut seen = Vec::new();
        let mut start = 0;
        while self.shared.with(|core| core.list_slots(start..start + CHUNK, &mut seen)) {
            start += CHUNK;
        }
        seen
    }

    /// Waits until `take` returns a hand-out or the end of the queue.
    async fn wait<T>(&self, take: impl Fn() -> Take<T>) -> Option<T> {
        loop {
            // Without registering as a waiter first: mostly a key is ready.
            match take() {
                Take::Handout(handout) => return Some(handout),
                Take::Ended => return None,
                Take::Yield => {
                    // The wake that led here is spent, and this future may be dropped before it is
                    // polled again.
                    self.shared.ready.notify_one();
                    yield_once().await;
                }
                Take::Empty => {
                    let ready = self.shared.ready.listen();
                    // Again: a key may have become ready before this waiter was registered.
                    match take() {
                        Take::Handout(handout) => return Some(handout),
                        Take::Ended => return None,
                        Take::Yield => {}
                        Take::Empty => ready.await,
                    }
                }
            }
        }
    }
}

/// The result of a drain.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Drained<K> {
    /// Keys that were not handed out or not completed.
    pub leftovers: Vec<KeyStatus<K>>,
}

/// Yields to the executor once.
async fn yield_once() {
    let mut yielded = false;
    std::future::poll_fn(|cx| {
        if std::mem::replace(&mut yielded, true) {
            return std::task::Poll::Ready(());
        }
        cx.waker().wake_by_ref();
        std::task::Poll::Pending
    })
    .await;
}

impl<K: Key> Clone for Queue<K> {
    fn clone(&self) -> Self {
        Self { shared: self.shared.clone() }
    }
}

impl<K: Key> fmt::Debug for Queue<K> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Stats { ready, delayed, in_flight, .. } = self.stats();
        f.debug_struct("Queue")
            .field("ready", &ready)
            .field("delayed", &delayed)
            .field("in_flight", &in_flight)
            .finish()
    }
}
