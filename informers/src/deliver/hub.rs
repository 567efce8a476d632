//! The handlers of one cache.

use super::slot::{HandlerControl, HandlerSlot};
use super::{Closed, DeliveryQueue, Displaced, Events, Lag, Notification, Steps};
use machinery_objects::Bookmark;
use machinery_sync::{Mutex, MutexGuard};
use std::fmt;
use std::hash::Hash;
use std::sync::Arc;
use std::time::Instant;

/// The handlers of one cache. Publishing puts notifications into the delivery queue of each handler
/// and blocks on none of them.
///
/// A cache changes while a [`Publishing`] exists, and a handler registers between two changes: so
/// each change is either in the handler's initial snapshot or delivered to it, and never both.
///
/// Lock order: `state`, then one queue or the locks of the cache.
pub struct Hub<N, T> {
    state: Mutex<State<N, T>>,
    seed: u64,
}

struct State<N, T> {
    /// Shared, because handlers are woken outside the lock.
    slots: Arc<Vec<Arc<HandlerSlot<N, T>>>>,
    /// The initial objects have been published.
    synced: bool,
    closed: bool,
}

/// The exclusive right to change the cache and publish the changes; no handler registers meanwhile.
///
/// Change the cache while it exists, drop replaced objects after it, and be quick. Its drop wakes
/// the handlers.
#[must_use = "changes are published through it"]
pub struct Publishing<'a, N, T> {
    state: Option<MutexGuard<'a, State<N, T>>>,
    displaced: Vec<Displaced<N, T>>,
}

/// Number of changes that are queued under one lock of a queue.
const BATCH: usize = 64;

impl<N, T> Hub<N, T> {
    /// Creates a hub without handlers. The seed is for the hash tables of the queues.
    pub fn new(seed: u64) -> Self {
        Self { state: Mutex::new(State { slots: Arc::default(), synced: false, closed: false }), seed }
    }

    /// Returns the number of handlers.
    pub fn len(&self) -> usize
    where
        N: Send,
        T: Send,
    {
        let slots = self.state.lock().slots.clone();
        slots.iter().filter(|slot| !slot.is_over()).count()
    }

    /// Returns the maximum lag of the handlers, and the sum of their panics.
    pub fn lag(&self, now: Instant) -> Lag
    where
        N: Send,
        T: Send,
    {
        let slots = self.state.lock().slots.clone();
        slots.iter().map(|slot| slot.lag(now)).fold(Lag::default(), |most, lag| Lag {
            due: most.due.max(lag.due),
            waiting: most.waiting.max(lag.waiting),
            panics: most.panics + lag.panics,
        })
    }

    /// Returns whether there are no handlers.
    pub fn is_empty(&self) -> bool
    where
        N: Send,
        T: Send,
    {
        self.len() == 0
    }

    /// Begins a change. Waits for other changes and for registrations.
    pub fn publishing(&self) -> Publishing<'_, N, T> {
        Publishing { state: Some(self.state.lock()), displaced: Vec::new() }
    }

    /// Waits for a change in progress: the notifications of changes that are visible in the cache
    /// are in the delivery queues afterwards.
    pub fn settle(&self) {
        drop(self.state.lock());
    }

    /// Closes the hub: handlers receive the queued events and end, and new ones are rejected.
    pub fn close(&self) {
        let mut publishing = self.publishing();
        let Some(state) = &mut publishing.state else { return };
        state.closed = true;
        state.slots.iter().for_each(|slot| slot.close());
        // The drop wakes the handlers.
    }
}

impl<N: Hash + Eq + Clone + Send + 'static, T: Clone + Send + 'static> Hub<N, T> {
    /// Registers a handler, which first receives the objects of a snapshot of the cache.
    ///
    /// `take_snapshot` is called while the cache cannot change and must be quick; `list` iterates
    /// over the snapshot afterwards, without any lock.
    ///
    /// # Errors
    /// The hub is closed.
    pub fn register<S>(
        &self,
        now: Instant,
        take_snapshot: impl FnOnce() -> S,
        list: impl FnOnce(&S, &mut dyn FnMut(&N, &T)),
    ) -> Result<Events<N, T>, Closed> {
        let mut state = self.state.lock();
        if state.closed {
            return Err(Closed);
        }
        let (snapshot, synced) = (take_snapshot(), state.synced);
        let slot = Arc::new(HandlerSlot::new(self.seed, synced));
        let slots = Arc::make_mut(&mut state.slots);
        slots.retain(|slot| !slot.is_over());
        slots.push(slot.clone());
        // Listed without the lock: changes since then are queued, and follow the initial objects.
        drop(state);
        let events = Events::new(slot);
        let mut queue = DeliveryQueue::new(self.seed);
        list(&snapshot, &mut |key, object| drop(queue.put_initial(now, key, object)));
        drop(snapshot);
        if synced {
            queue.mark(Bookmark::Synced);
        }
        events.slot.prepend_initial(queue);
        Ok(events)
    }
}

impl<N: Hash + Eq + Clone + Send, T: Clone + Send> Publishing<'_, N, T> {
    /// Publishes changes of the cache to all handlers, in this order.
    pub fn publish(&mut self, now: Instant, notifications: &[Notification<N, T>]) {
        self.publish_steps(now, notifications, Steps::ONE);
    }

    /// Publishes changes, each with these steps: [`Steps::LISTED`] for those that a list found.
    pub fn publish_steps(&mut self, now: Instant, notifications: &[Notification<N, T>], steps: Steps) {
        let Some(state) = &mut self.state else { return };
        let mut all_open = true;
        // In batches, so that a handler waits for its next event no longer than for one of them.
        for notifications in notifications.chunks(BATCH) {
            for slot in &**state.slots {
                all_open &= slot.put(now, notifications, steps, &mut self.displaced);
            }
        }
        if !all_open {
            Arc::make_mut(&mut state.slots).retain(|slot| !slot.is_over());
        }
    }

    /// Returns whether there may be handlers.
    pub fn has_handlers(&self) -> bool {
        self.state.as_ref().is_some_and(|state| !state.slots.is_empty())
    }

    /// Puts a mark into all queues, after the events there.
    ///
    /// Each handler receives [`Bookmark::Synced`] once, also if it registers later.
    pub fn mark(&mut self, mark: &Bookmark) {
        let Some(state) = &mut self.state else { return };
        state.synced |= *mark == Bookmark::Synced;
        state.slots.iter().for_each(|slot| slot.mark(mark));
    }
}

impl<N, T> Drop for Publishing<'_, N, T> {
    /// Releases the hub, and then wakes the handlers.
    fn drop(&mut self) {
        let Some(state) = self.state.take() else { return };
        let slots = state.slots.clone();
        drop(state);
        for slot in &**slots {
            slot.ready.notify_one();
        }
    }
}

impl<N, T> fmt::Debug for Hub<N, T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Hub").field("handlers", &self.state.lock().slots.len()).finish_non_exhaustive()
    }
}

impl<N, T> fmt::Debug for Publishing<'_, N, T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Publishing")
    }
}
