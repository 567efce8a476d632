//! One handler's place: its inbox, and how far it and its handler have come.

use super::{Delivery, DeliveryQueue, Displaced, Notification};
use machinery_objects::Mark;
use machinery_sync::{Mutex, Notify};
use std::hash::Hash;
use std::time::{Duration, Instant};

/// There is nobody to tell any more: the informer has stopped, or the handler was removed.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error(
    "the informer has stopped, or this handler was removed: nothing is told any more; begin another informer"
)]
pub struct Closed;

/// How far a handler is behind.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct Lag {
    /// How many keys it is yet to be told of.
    pub due: usize,
    /// For how long the oldest of them has been due, or what the handler is busy with.
    pub waiting: Duration,
    /// How often it has panicked; that event was lost to it, and it went on.
    pub panics: u64,
}

/// One handler's place. Its lock is held for some changes at a time, and for no call of anybody's but the keys' `Eq`,
/// `Hash` and `Clone` and the states' `Clone`.
pub(super) struct HandlerSlot<N, T> {
    state: Mutex<State<N, T>>,
    /// The taking end waits for something to tell.
    pub(super) ready: Notify,
    /// Others wait until it is synced, or over.
    pub(super) changed: Notify,
}

struct State<N, T> {
    queue: DeliveryQueue<N, T>,
    phase: HandlerPhase,
    synced: Synced,
    /// A call is running.
    calling: Option<RunningCall>,
    /// What was taken last had been due since then.
    busy_since: Option<Instant>,
    panics: u64,
}

/// Where a call is running. Under loom all threads look like one.
type RunningCall = Option<std::thread::ThreadId>;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum HandlerPhase {
    Open,
    /// Nothing more comes; what is due is still told.
    Closing,
    /// Nothing is told any more.
    Closed,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Synced {
    No,
    /// The mark is in the inbox.
    Queued,
    /// The mark has been handled.
    Done,
}

/// An answer to the taking end.
pub(super) enum Taken<N, T> {
    Delivery(Delivery<N, T>),
    Empty,
    Closed,
}

/// Whether what is taken is taken by a call, which is over later.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum TakeMode {
    Call,
    Pull,
}

/// What others can ask of any handler's place.
pub(super) trait HandlerControl: Send + Sync {
    /// Ends it: no call begins after this.
    fn stop(&self);
    fn lag(&self, now: Instant) -> Lag;
    /// Whether it is synced, once that is settled.
    fn synced(&self) -> Option<Result<(), Closed>>;
    fn is_over(&self) -> bool;
    /// Whether somebody else is in a call.
    fn is_calling(&self) -> bool;
    fn changed(&self) -> &Notify;
}

impl<N, T> HandlerSlot<N, T> {
    /// A place for whoever is told of the beginning later, which [`HandlerSlot::prepend_initial`] puts before all else.
    pub(super) fn new(seed: u64, synced: bool) -> Self {
        let state = State {
            queue: DeliveryQueue::new(seed),
            phase: HandlerPhase::Open,
            synced: if synced { Synced::Queued } else { Synced::No },
            calling: None,
            busy_since: None,
            panics: 0,
        };
        Self { state: Mutex::new(state), ready: Notify::new(), changed: Notify::new() }
    }

    /// Nothing more comes.
    pub(super) fn close(&self) {
        let mut state = self.state.lock();
        if state.phase == HandlerPhase::Open {
            state.phase = HandlerPhase::Closing;
        }
    }

    /// Puts a mark behind all that is due. There is one first sync.
    pub(super) fn mark(&self, mark: &Mark) {
        let mut state = self.state.lock();
        if state.phase == HandlerPhase::Closed || (*mark == Mark::Synced && state.synced != Synced::No) {
            return;
        }
        if *mark == Mark::Synced {
            state.synced = Synced::Queued;
        }
        state.queue.mark(mark.clone());
    }

    /// A call is over.
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
    /// Puts changes behind all that is due, and what they displace among what is to be dropped later. Says whether
    /// anybody will hear of them.
    pub(super) fn put(
        &self,
        now: Instant,
        notifications: &[Notification<N, T>],
        displaced: &mut Vec<Displaced<N, T>>,
    ) -> bool {
        let mut state = self.state.lock();
        if state.phase == HandlerPhase::Closed {
            return false;
        }
        for Notification { key, before, change } in notifications {
            displaced.extend(state.queue.put(now, key, before.as_ref(), change));
        }
        true
    }

    /// Puts what was there at the beginning before all that was put since.
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

    /// Takes what is to be told next. A call is under way then until it has [`HandlerSlot::returned`].
    pub(super) fn take(&self, by: TakeMode) -> Taken<N, T> {
        let mut state = self.state.lock();
        if state.phase == HandlerPhase::Closed {
            return Taken::Closed;
        }
        let oldest = state.queue.oldest();
        let Some((delivery, displaced)) = state.queue.next() else {
            state.busy_since = None;
            return if state.phase == HandlerPhase::Closing { Taken::Closed } else { Taken::Empty };
        };
        state.busy_since = oldest;
        match by {
            TakeMode::Call => state.calling = Some(current_thread()),
            TakeMode::Pull if matches!(delivery, Delivery::Mark(Mark::Synced)) => {
                state.synced = Synced::Done;
                drop(state);
                self.changed.notify_all();
                return Taken::Delivery(delivery);
            }
            TakeMode::Pull => {}
        }
        drop(state);
        drop(displaced);
        Taken::Delivery(delivery)
    }
}

impl<N: Send, T: Send> HandlerControl for HandlerSlot<N, T> {
    fn stop(&self) {
        let mut state = self.state.lock();
        state.phase = HandlerPhase::Closed;
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
        calling.is_some_and(|thread| thread.is_none() || thread != current_thread())
    }

    fn changed(&self) -> &Notify {
        &self.changed
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
