//! All the handlers of one cache.

use super::slot::{HandlerControl, HandlerSlot};
use super::{Closed, DeliveryQueue, Displaced, Events, Lag, Notification};
use machinery_objects::Mark;
use machinery_sync::{Mutex, MutexGuard};
use std::fmt;
use std::hash::Hash;
use std::sync::Arc;
use std::time::Instant;

/// All the handlers of one cache. What is published is put into the inbox of each, which waits for nobody.
///
/// A cache changes between [`Hub::publishing`] and the drop of what that returns, and a handler comes between two changes:
/// so each change is in the state that it begins with, or is told to it, and never both.
///
/// Lock order: `state`, then one inbox, or what the cache locks to change or to be read.
pub struct Hub<N, T> {
    state: Mutex<State<N, T>>,
    seed: u64,
}

struct State<N, T> {
    /// Shared with those who wake them up outside the lock.
    slots: Arc<Vec<Arc<HandlerSlot<N, T>>>>,
    /// What was there at the beginning has been published.
    synced: bool,
    closed: bool,
}

/// The right to change the cache, and to tell of it. Nobody comes meanwhile.
///
/// Change the cache while you have it, keep what that displaces until you have it no more, and be quick: its drop wakes
/// the handlers.
#[must_use = "changes are published through it"]
pub struct Publishing<'a, N, T> {
    state: Option<MutexGuard<'a, State<N, T>>>,
    displaced: Vec<Displaced<N, T>>,
}

/// So many changes are put into an inbox while its lock is held.
const BATCH: usize = 64;

impl<N, T> Hub<N, T> {
    /// A hub without handlers. The seed is for the hash tables of their inboxes.
    pub fn new(seed: u64) -> Self {
        Self { state: Mutex::new(State { slots: Arc::default(), synced: false, closed: false }), seed }
    }

    /// How many handlers there are.
    pub fn len(&self) -> usize
    where
        N: Send,
        T: Send,
    {
        let slots = self.state.lock().slots.clone();
        slots.iter().filter(|slot| !slot.is_over()).count()
    }

    /// How far the handlers are behind: the most of each, and all their panics.
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

    /// Whether nobody listens.
    pub fn is_empty(&self) -> bool
    where
        N: Send,
        T: Send,
    {
        self.len() == 0
    }

    /// Begins a change. Waits while somebody else changes, or comes.
    pub fn publishing(&self) -> Publishing<'_, N, T> {
        Publishing { state: Some(self.state.lock()), displaced: Vec::new() }
    }

    /// Lets each handler end when it has been told what is due, and no other begin.
    pub fn close(&self) {
        let mut publishing = self.publishing();
        let Some(state) = &mut publishing.state else { return };
        state.closed = true;
        state.slots.iter().for_each(|slot| slot.close());
        // The drop wakes them.
    }
}

impl<N: Hash + Eq + Clone + Send + 'static, T: Clone + Send + 'static> Hub<N, T> {
    /// Adds a handler, who is told first of all that is there.
    ///
    /// `take_snapshot` takes a snapshot of the cache. It is called while nobody changes the cache, so it has to be quick. `list`
    /// goes through the snapshot afterwards, when everybody goes on.
    ///
    /// # Errors
    /// If the hub is closed.
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
        drop(state);
        let events = Events::new(slot);
        let mut queue = DeliveryQueue::new(self.seed);
        list(&snapshot, &mut |key, object| drop(queue.put_initial(now, key, object)));
        drop(snapshot);
        if synced {
            queue.mark(Mark::Synced);
        }
        events.slot.prepend_initial(queue);
        Ok(events)
    }
}

impl<N: Hash + Eq + Clone + Send, T: Clone + Send> Publishing<'_, N, T> {
    /// Tells all handlers of changes of the cache, in this order.
    pub fn publish(&mut self, now: Instant, notifications: &[Notification<N, T>]) {
        let Some(state) = &mut self.state else { return };
        let mut all_open = true;
        for notifications in notifications.chunks(BATCH) {
            for slot in &**state.slots {
                all_open &= slot.put(now, notifications, &mut self.displaced);
            }
        }
        if !all_open {
            Arc::make_mut(&mut state.slots).retain(|slot| !slot.is_over());
        }
    }

    /// Whether there may be anybody to tell.
    pub fn has_handlers(&self) -> bool {
        self.state.as_ref().is_some_and(|state| !state.slots.is_empty())
    }

    /// Tells all handlers how far they have come when they have been told what is due.
    ///
    /// Of [`Mark::Synced`] each is told once, also who comes later.
    pub fn mark(&mut self, mark: &Mark) {
        let Some(state) = &mut self.state else { return };
        state.synced |= *mark == Mark::Synced;
        state.slots.iter().for_each(|slot| slot.mark(mark));
    }
}

impl<N, T> Drop for Publishing<'_, N, T> {
    /// Lets the next one in, and then wakes the handlers.
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
