//! The handle that everybody holds.

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

/// A work queue with one entry per key. A handle: clones are the same queue.
pub struct Queue<K: Key> {
    pub(crate) shared: Arc<Shared<K>>,
}

impl<K: Key> Queue<K> {
    /// A queue whose time stands still until the returned clock is moved. For simulations, tests, and runtimes other
    /// than tokio.
    ///
    /// # Errors
    /// If a setting makes no sense.
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

    /// Adds a key for later. If it is queued already, or delayed to sooner, that stands.
    ///
    /// # Errors
    /// If the queue is closed or full. The error holds the key.
    #[inline]
    pub fn add_after(&self, key: K, delay: Duration) -> Result<Added, AddError<K>> {
        self.add_with(key, Add::new().after(delay))
    }

    /// Adds a key as `add` says.
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

    /// Adds a key as `add` says, and clones it only if it is not there.
    ///
    /// # Errors
    /// If the queue is closed or full. The error holds a clone of the key.
    #[inline]
    pub fn add_ref(&self, mut key: &K, add: Add) -> Result<Added, AddError<K>> {
        let known = self.shared.hashed(key);
        let added = self.shared.add(known, &mut key, &add);
        added.map_err(|refusal| AddError::new(refusal, &mut key))
    }

    /// Adds many keys as `add` says, in order, a few at a time under one lock. Returns how many were added or merged.
    ///
    /// # Errors
    /// If the queue is closed or full. The error holds the first key that was refused; those before it are added,
    /// and those after it are not taken from `keys` or are dropped.
    pub fn add_all(&self, keys: impl IntoIterator<Item = K>, add: Add) -> Result<usize, AddError<K>> {
        const CHUNK: usize = 64;
        let mut keys = keys.into_iter().fuse();
        let mut count = 0;
        let mut chunk = Vec::with_capacity(keys.size_hint().0.clamp(1, CHUNK));
        loop {
            // Hashed before the lock is taken; and `keys` is the caller's code, which may itself use the queue.
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
            // What was merged is dropped here, where the lock is not held.
            chunk.clear();
        }
    }

    /// Waits for a key. `None` once the queue is closed or drained, and no key will come.
    ///
    /// Those who wait are woken in turn. Dropping the future loses nothing: no key is taken before it completes, and
    /// a wake that it had got goes to the next in line.
    pub async fn get(&self) -> Option<Work<K>> {
        let take = || self.shared.with(|core| core.take(self.shared.clock.coarse(), true));
        let handout = self.wait(take).await?;
        Some(Work::new(self.shared.clone(), handout))
    }

    /// A key, if one is ready.
    pub fn try_get(&self) -> Option<Work<K>> {
        match self.shared.with(|core| core.take(self.shared.clock.coarse(), false)) {
            Take::Handout(handout) => Some(Work::new(self.shared.clone(), handout)),
            Take::Empty | Take::Ended | Take::Yield => None,
        }
    }

    /// Waits for a key, and takes up to `max` that are ready then; 0 is taken as 1. `None` as from [`Queue::get`].
    ///
    /// Dropping the future loses nothing.
    pub async fn get_batch(&self, max: usize) -> Option<Batch<K>> {
        let take = || {
            let now = self.shared.clock.coarse();
            self.shared.with(|core| match core.take(now, true) {
                Take::Handout(first) => {
                    let limit = max.clamp(1, core.ready_len() + 1);
                    let mut handouts = Vec::with_capacity(limit);
                    handouts.push(first);
                    while handouts.len() < limit {
                        // A key whose clone panics stays, for the next get to panic: the others are taken already.
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

    /// Takes back what is queued for a key: ready, delayed, or to be run again. Says whether there was anything.
    ///
    /// If it is out, it stays out, and its answer counts: a failure is retried.
    pub fn cancel(&self, key: &K) -> bool {
        let hash = self.shared.hash(key);
        let now = self.shared.clock.coarse();
        let (cancelled, _key) = self.shared.with(|core| core.cancel(now, hash, key));
        cancelled
    }

    /// Forgets how often a key failed, wherever it is, so that its next back-off is the first. Takes nothing back.
    /// Says how often it had.
    pub fn forget(&self, key: &K) -> u16 {
        let hash = self.shared.hash(key);
        self.shared.with(|core| core.forget(hash, key))
    }

    /// Refuses adds from now on. What is ready is still handed out, then [`Queue::get`] returns `None`. Ends a drain.
    ///
    /// It waits for nobody: a key that fails after the last worker has gone stays in the queue, where [`Queue::list`]
    /// shows it. To see everything through, [`Queue::drain`].
    pub fn close(&self) {
        self.shared.with(|core| core.close());
    }

    /// Refuses adds, and waits until nothing is ready, out, or delayed to before the deadline; at the longest `within`.
    /// Then [`Queue::get`] returns `None`, whatever is left: it is in the answer. Ended early by [`Queue::close`], it
    /// answers with what is there then.
    ///
    /// Workers must go on taking keys meanwhile. Dropping the future does not undo it: the queue goes on draining, and
    /// stops at the deadline.
    pub async fn drain(&self, within: Duration) -> Drained<K> {
        let now = self.shared.clock.exact();
        self.shared.with(|core| core.drain(now, within));
        loop {
            let drained = self.shared.drained.listen();
            if !self.shared.with(|core| core.drains()) {
                break;
            }
            drained.await;
        }
        // A close may have ended it: then the queue is not over, and its clock has to go on.
        if self.shared.with(|core| core.is_stopped()) {
            self.shared.clock.stop().await;
        }
        Drained { leftovers: self.list() }
    }

    /// How many keys are ready. Neither those delayed nor those out.
    pub fn len(&self) -> usize {
        self.shared.with(|core| core.ready_len())
    }

    /// Whether no key is ready.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// What the queue has done and holds.
    pub fn stats(&self) -> Stats {
        self.shared.stats()
    }

    /// One key, as it is now.
    pub fn status(&self, key: &K) -> Option<KeyStatus<K>> {
        let hash = self.shared.hash(key);
        let now = self.shared.clock.exact();
        self.shared.with(|core| {
            core.advance(now);
            core.status(hash, key)
        })
    }

    /// Every key, in no order that means anything.
    ///
    /// It looks at a thousand at a time, so a large queue goes on working meanwhile; a key that moves meanwhile is seen
    /// in one of its states.
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

    /// Takes from the queue until that gives something, or the end.
    async fn wait<T>(&self, take: impl Fn() -> Take<T>) -> Option<T> {
        loop {
            // Without a place in the line first: mostly there is something.
            match take() {
                Take::Handout(handout) => return Some(handout),
                Take::Ended => return None,
                Take::Yield => {
                    // If a wake brought us here it is spent, and we may be dropped before we are back.
                    self.shared.ready.notify_one();
                    yield_once().await;
                }
                Take::Empty => {
                    let ready = self.shared.ready.listen();
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

/// How a drain ended.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Drained<K> {
    /// What was not handed out, or not answered.
    pub leftovers: Vec<KeyStatus<K>>,
}

/// Lets others run, once.
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
