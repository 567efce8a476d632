//! One handler's place: its inbox, and how far it and its handler have come.

use super::{Displaced, Inbox, News, Told};
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
pub(super) struct Slot<N, T> {
    state: Mutex<State<N, T>>,
    /// The taking end waits for something to tell.
    pub(super) ready: Notify,
    /// Others wait until it is synced, or over.
    pub(super) changed: Notify,
}

struct State<N, T> {
    inbox: Inbox<N, T>,
    phase: Phase,
    synced: Synced,
    /// A call is running.
    calling: Option<Calling>,
    /// What was taken last had been due since then.
    busy_since: Option<Instant>,
    panics: u64,
}

/// Where a call is running. Under loom all threads look like one.
type Calling = Option<std::thread::ThreadId>;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Phase {
    Open,
    /// Nothing more comes; what is due is still told.
    Closing,
    /// Nothing is told any more.
    Over,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Synced {
    No,
    /// The mark is in the inbox.
    Due,
    /// The mark has been handled.
    Done,
}

/// An answer to the taking end.
pub(super) enum Taken<N, T> {
    Told(Told<N, T>),
    Nothing,
    Over,
}

/// Whether what is taken is taken by a call, which is over later.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum By {
    Call,
    Pull,
}

/// What others can ask of any handler's place.
pub(super) trait Place: Send + Sync {
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

impl<N, T> Slot<N, T> {
    /// A place for whoever is told of the beginning later, which [`Slot::begin`] puts before all else.
    pub(super) fn new(seed: u64, synced: bool) -> Self {
        let state = State {
            inbox: Inbox::new(seed),
            phase: Phase::Open,
            synced: if synced { Synced::Due } else { Synced::No },
            calling: None,
            busy_since: None,
            panics: 0,
        };
        Self { state: Mutex::new(state), ready: Notify::new(), changed: Notify::new() }
    }

    /// Nothing more comes.
    pub(super) fn close(&self) {
        let mut state = self.state.lock();
        if state.phase == Phase::Open {
            state.phase = Phase::Closing;
        }
    }

    /// Puts a mark behind all that is due. There is one first sync.
    pub(super) fn mark(&self, mark: &Mark) {
        let mut state = self.state.lock();
        if state.phase == Phase::Over || (*mark == Mark::Synced && state.synced != Synced::No) {
            return;
        }
        if *mark == Mark::Synced {
            state.synced = Synced::Due;
        }
        state.inbox.mark(mark.clone());
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
        let is_news = was_synced || state.phase == Phase::Over;
        drop(state);
        if is_news {
            self.changed.notify_all();
        }
    }
}

impl<N: Hash + Eq + Clone, T: Clone> Slot<N, T> {
    /// Puts changes behind all that is due, and what they displace among what is to be dropped later. Says whether
    /// anybody will hear of them.
    pub(super) fn put(
        &self,
        now: Instant,
        news: &[News<N, T>],
        displaced: &mut Vec<Displaced<N, T>>,
    ) -> bool {
        let mut state = self.state.lock();
        if state.phase == Phase::Over {
            return false;
        }
        for News { key, before, change } in news {
            displaced.extend(state.inbox.put(now, key, before.as_ref(), change));
        }
        true
    }

    /// Puts what was there at the beginning before all that was put since.
    pub(super) fn begin(&self, mut inbox: Inbox<N, T>) {
        let mut state = self.state.lock();
        if state.phase == Phase::Over {
            return;
        }
        std::mem::swap(&mut state.inbox, &mut inbox);
        let displaced = state.inbox.append(inbox);
        drop(state);
        drop(displaced);
    }

    /// Takes what is to be told next. A call is under way then until it has [`Slot::returned`].
    pub(super) fn take(&self, by: By) -> Taken<N, T> {
        let mut state = self.state.lock();
        if state.phase == Phase::Over {
            return Taken::Over;
        }
        let oldest = state.inbox.oldest();
        let Some((told, displaced)) = state.inbox.next() else {
            state.busy_since = None;
            return if state.phase == Phase::Closing { Taken::Over } else { Taken::Nothing };
        };
        state.busy_since = oldest;
        match by {
            By::Call => state.calling = Some(here()),
            By::Pull if matches!(told, Told::Mark(Mark::Synced)) => {
                state.synced = Synced::Done;
                drop(state);
                self.changed.notify_all();
                return Taken::Told(told);
            }
            By::Pull => {}
        }
        drop(state);
        drop(displaced);
        Taken::Told(told)
    }
}

impl<N: Send, T: Send> Place for Slot<N, T> {
    fn stop(&self) {
        let mut state = self.state.lock();
        state.phase = Phase::Over;
        let inbox = std::mem::replace(&mut state.inbox, Inbox::new(0));
        drop(state);
        drop(inbox);
        self.ready.notify_one();
        self.changed.notify_all();
    }

    fn lag(&self, now: Instant) -> Lag {
        let state = self.state.lock();
        let since = state.busy_since.or_else(|| state.inbox.oldest());
        let waiting = since.map_or(Duration::ZERO, |since| now.saturating_duration_since(since));
        Lag { due: state.inbox.len(), waiting, panics: state.panics }
    }

    fn synced(&self) -> Option<Result<(), Closed>> {
        let state = self.state.lock();
        match (state.synced, state.phase) {
            (Synced::Done, _) => Some(Ok(())),
            (_, Phase::Over) => Some(Err(Closed)),
            _ => None,
        }
    }

    fn is_over(&self) -> bool {
        self.state.lock().phase == Phase::Over
    }

    fn is_calling(&self) -> bool {
        let calling = self.state.lock().calling;
        calling.is_some_and(|thread| thread.is_none() || thread != here())
    }

    fn changed(&self) -> &Notify {
        &self.changed
    }
}

#[cfg(not(machinery_loom))]
fn here() -> Calling {
    Some(std::thread::current().id())
}

#[cfg(machinery_loom)]
const fn here() -> Calling {
    None
}
