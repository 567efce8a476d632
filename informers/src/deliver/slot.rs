//! The state of one handler: its delivery queue, its phase and its running call.

use super::progress::HandledCount;
use super::{Delivery, DeliveryQueue, Displaced, Notification, Steps};
use machinery_objects::Bookmark;
use machinery_sync::{Mutex, Notify};
use std::hash::Hash;
use std::time::{Duration, Instant};

/// The informer has stopped, or the handler was removed.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error(
    "the informer has stopped, or this handler was removed: no more events are delivered; start another informer"
)]
pub struct Closed;

/// The lag of a handler.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct Lag {
    /// Number of keys with undelivered changes.
    pub due: usize,
    /// The age of the oldest undelivered change, including the one that is being handled.
    pub waiting: Duration,
    /// Number of calls that panicked; each lost its event, and the handler went on.
    pub panics: u64,
}

/// The state of one handler. Under its lock no foreign code runs but `Eq`, `Hash` and `Clone` of
/// the keys and `Clone` of the states.
pub(super) struct HandlerSlot<N, T> {
    state: Mutex<State<N, T>>,
    /// Wakes the receiving end.
    pub(super) ready: Notify,
    /// Wakes waiters for the sync, the close or the end of a call.
    pub(super) changed: Notify,
}

struct State<N, T> {
    queue: DeliveryQueue<N, T>,
    phase: HandlerPhase,
    synced: Synced,
    /// The running call.
    calling: Option<RunningCall>,
    /// Since when the delivery that is being handled had been queued.
    busy_since: Option<Instant>,
    panics: u64,
    handled: HandledCount,
}

/// The thread of a running call. Under loom all threads look alike.
type RunningCall = Option<std::thread::ThreadId>;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum HandlerPhase {
    Open,
    /// Accepts no more changes; delivers the queued ones.
    Closing,
    /// Delivers nothing any more.
    Closed,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Synced {
    No,
    /// The mark is in the queue.
    Queued,
    /// The mark has been handled.
    Done,
}

/// The result of taking a delivery.
pub(super) enum Taken<N, T> {
    Delivery(Delivery<N, T>, Steps),
    Empty,
    Closed,
}

/// Whether a delivery is handled by a call, which returns later, or is pulled.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum TakeMode {
    Call,
    Pull,
}

/// The operations on a handler that do not depend on its types.
pub(super) trait HandlerControl: Send + Sync {
    /// Stops the handler: no call begins after this.
    fn stop(&self);
    fn lag(&self, now: Instant) -> Lag;
    /// Returns whether the handler is synced; `None` while that is undecided.
    fn synced(&self) -> Option<Result<(), Closed>>;
    fn is_over(&self) -> bool;
    /// Returns whether a call runs on another thread.
    fn is_calling(&self) -> bool;
    fn changed(&self) -> &Notify;
    /// Returns the position after the events that are queued or being handled.
    fn queued_to(&self) -> u64;
    /// Returns whether the events before a position are handled. If not, their end is notified.
    fn is_handled_to(&self, position: u64) -> bool;
}

impl<N, T> HandlerSlot<N, T> {
    /// Creates the slot of a handler whose initial objects [`HandlerSlot::prepend_initial`] adds
    /// later.
    pub(super) fn new(seed: u64, synced: bool) -> Self {
        let state = State {
            queue: DeliveryQueue::new(seed),
            phase: HandlerPhase::Open,
            synced: if synced { Synced::Queued } else { Synced::No },
            calling: None,
            busy_since: None,
            panics: 0,
            handled: HandledCount::new(),
        };
        Self { state: Mutex::new(state), ready: Notify::new(), changed: Notify::new() }
    }

    /// Accepts no more changes.
    pub(super) fn close(&self) {
        let mut state = self.state.lock();
        if state.phase == HandlerPhase::Open {
            state.phase = HandlerPhase::Closing;
        }
    }

    /// Appends a mark. The first sync is marked once.
    pub(super) fn mark(&self, mark: &Bookmark) {
        let mut state = self.state.lock();
        if state.phase == HandlerPhase::Closed || (*mark == Bookmark::Synced && state.synced != Synced::No) {
            return;
        }
        if *mark == Bookmark::Synced {
            state.synced = Synced::Queued;
        }
        state.queue.mark(mark.clone());
    }

    /// Records the end of a call.
    pub(super) fn returned(&self, was_synced: bool, panicked: bool) {
        let mut state = self.state.lock();
        state.calling = None;
        state.busy_since = None;
        state.panics += u64::from(panicked);
        if was_synced {
            state.synced = Synced::Done;
        }
        let wakes = was_synced || state.phase == HandlerPhase::Closed;
        drop(state);
        if wakes {
            self.changed.notify_all();
        }
    }
}

impl<N: Hash + Eq + Clone, T: Clone> HandlerSlot<N, T> {
    /// Appends changes, and adds what they displace to what is to be dropped later. Returns whether
    /// the handler is open.
    pub(super) fn put(
        &self,
        now: Instant,
        notifications: &[Notification<N, T>],
        steps: Steps,
        displaced: &mut Vec<Displaced<N, T>>,
    ) -> bool {
        let mut state = self.state.lock();
        if state.phase == HandlerPhase::Closed {
            return false;
        }
        for Notification { key, before, change } in notifications {
            displaced.extend(state.queue.put_steps(now, key, before.as_ref(), change, steps));
        }
        true
    }

    /// Puts the initial objects before the changes that were queued meanwhile.
    pub(super) fn prepend_initial(&self, mut queue: DeliveryQueue<N, T>) {
        let mut state = self.state.lock();
        if state.phase == HandlerPhase::Closed {
            return;
        }
        std::mem::swap(&mut state.queue, &mut queue);
        let displaced = state.queue.append(queue);
        drop(state);
        drop(displaced);
    }

    /// Takes the next delivery. With [`TakeMode::Call`] a call runs until
    /// [`HandlerSlot::returned`].
    pub(super) fn take(&self, by: TakeMode) -> Taken<N, T> {
        let mut state = self.state.lock();
        if state.phase == HandlerPhase::Closed {
            return Taken::Closed;
        }
        let oldest = state.queue.oldest();
        let was_handled = state.handled.returned();
        let Some((delivery, steps, displaced)) = state.queue.next() else {
            state.busy_since = None;
            let taken = if state.phase == HandlerPhase::Closing { Taken::Closed } else { Taken::Empty };
            let idle = state.handled.idle();
            drop(state);
            if was_handled || idle {
                self.changed.notify_all();
            }
            return taken;
        };
        if matches!(delivery, Delivery::Event(..)) {
            state.handled.taken();
        }
        state.busy_since = oldest;
        match by {
            // Under the lock of the phase: a stop either prevents this call or sees it.
            TakeMode::Call => state.calling = Some(current_thread()),
            TakeMode::Pull if matches!(delivery, Delivery::Mark(Bookmark::Synced)) => {
                state.synced = Synced::Done;
                drop(state);
                self.changed.notify_all();
                return Taken::Delivery(delivery, steps);
            }
            TakeMode::Pull => {}
        }
        drop(state);
        drop(displaced);
        if was_handled {
            self.changed.notify_all();
        }
        Taken::Delivery(delivery, steps)
    }
}

impl<N: Send, T: Send> HandlerControl for HandlerSlot<N, T> {
    fn stop(&self) {
        let mut state = self.state.lock();
        state.phase = HandlerPhase::Closed;
        // Dropped outside the lock: objects may run user code in their `Drop`.
        let queue = std::mem::replace(&mut state.queue, DeliveryQueue::new(0));
        drop(state);
        drop(queue);
        self.ready.notify_one();
        self.changed.notify_all();
    }

    fn lag(&self, now: Instant) -> Lag {
        let state = self.state.lock();
        let since = state.busy_since.or_else(|| state.queue.oldest());
        let waiting = since.map_or(Duration::ZERO, |since| now.saturating_duration_since(since));
        Lag { due: state.queue.len(), waiting, panics: state.panics }
    }

    fn synced(&self) -> Option<Result<(), Closed>> {
        let state = self.state.lock();
        match (state.synced, state.phase) {
            (Synced::Done, _) => Some(Ok(())),
            (_, HandlerPhase::Closed) => Some(Err(Closed)),
            _ => None,
        }
    }

    fn is_over(&self) -> bool {
        self.state.lock().phase == HandlerPhase::Closed
    }

    fn is_calling(&self) -> bool {
        let calling = self.state.lock().calling;
        // A handler that removes itself must not wait for its own call.
        calling.is_some_and(|thread| thread.is_none() || thread != current_thread())
    }

    fn changed(&self) -> &Notify {
        &self.changed
    }

    fn queued_to(&self) -> u64 {
        let state = self.state.lock();
        state.handled.position_after(state.queue.len())
    }

    fn is_handled_to(&self, position: u64) -> bool {
        let mut state = self.state.lock();
        let is_over = state.phase == HandlerPhase::Closed;
        let queued = state.queue.len();
        is_over || state.handled.has_reached(position, queued)
    }
}

#[cfg(not(machinery_loom))]
fn current_thread() -> RunningCall {
    Some(std::thread::current().id())
}

#[cfg(machinery_loom)]
const fn current_thread() -> RunningCall {
    None
}
