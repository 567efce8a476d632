//! One kind's cache: what the store tells is taken in by one task, and everybody else reads.

use std::sync::Arc;
use std::task::Waker;
use std::time::Duration;

use machinery_objects::Revision;
use machinery_store::{Range, Seen, Watch, WatchError};
use machinery_sync::atomic::{AtomicBool, Ordering};
use machinery_sync::{Mutex, Notify};
use tokio::time::{Instant, sleep_until, timeout_at};
use tokio_util::sync::CancellationToken;

use super::hub::{Ended, Hub, Step};
use super::objects::Objects;
use super::ring::Most;
use super::{State, View};
use crate::kind::Kind;
use crate::metrics::Asked;
use crate::refusal::Refusal;
use crate::storage::{self, Moment, PATIENCE, too_large};

/// The objects of one kind, and everybody who watches them.
pub(crate) struct Cache {
    pub(crate) kind: Arc<Kind>,
    pub(super) store: storage::Objects,
    pub(super) hub: Mutex<Hub>,
    /// Somebody waits for the store to say how far it is.
    asks: AtomicBool,
    /// The task has something to look at besides the store.
    nudge: tokio::sync::Notify,
    /// Something came.
    came: Notify,
    started: Instant,
    pub(super) counted: Asked,
}

/// Alarms are as exact as this.
const TICK: Duration = Duration::from_millis(100);

impl Cache {
    /// Reads what is there, and begins to follow what becomes of it.
    pub(super) async fn load(
        kind: Arc<Kind>,
        store: storage::Objects,
        most: Most,
        seed: u64,
        counted: Asked,
    ) -> Result<(Arc<Self>, Watch), Refusal> {
        let span = kind.place.span(None);
        let listed = store.list(Range::of(span.clone()), Moment::Newest).await?;
        let watch = store.watch(span, listed.at).await.map_err(|error| Refusal {
            retry_after: Some(1),
            ..Refusal::new(503, "ServiceUnavailable", error.to_string())
        })?;
        let mut states = Vec::with_capacity(listed.entries.len());
        for (at, entry) in listed.entries.into_iter().enumerate() {
            if at % TURN == TURN - 1 {
                tokio::task::yield_now().await;
            }
            states.push(State::of(&kind, entry));
        }
        let objects = Objects::new(kind.selectable.len(), seed, states);
        let cache = Self {
            hub: Mutex::new(Hub::new(kind.clone(), objects, listed.at, most, seed)),
            kind,
            store,
            asks: AtomicBool::new(false),
            nudge: tokio::sync::Notify::new(),
            came: Notify::new(),
            started: Instant::now(),
            counted,
        };
        Ok((Arc::new(cache), watch))
    }

    /// Takes in what the store tells, until there is nothing more to tell.
    pub(super) async fn run(&self, mut watch: Watch, stopping: &CancellationToken) {
        let mut is_replaced = false;
        loop {
            let alarm = self.hub.lock().watches.next_alarm().map(|tick| self.started + TICK * tick);
            tokio::select! {
                biased;
                () = stopping.cancelled() => self.change(|hub, wake| hub.end(Ended::Stopped, wake)),
                last = self.kind.replaced.wait(), if !is_replaced => {
                    is_replaced = true;
                    self.change(|hub, wake| hub.replaced(*last, wake));
                    watch.request_progress();
                }
                () = self.nudge.notified() => {
                    if self.asks.swap(false, Ordering::AcqRel) {
                        watch.request_progress();
                    }
                }
                seen = watch.next() => self.take(seen),
                () = until(alarm) => {
                    let now = self.ticks();
                    self.change(|hub, wake| hub.watches.ring(now, wake));
                }
            }
            if self.hub.lock().ended().is_some() {
                return;
            }
        }
    }

    fn take(&self, seen: Result<Seen, WatchError>) {
        match seen {
            Ok(Seen::Changes { revision, events }) => {
                let steps =
                    events.into_iter().map(|event| Step::of(event, |entry| State::of(&self.kind, entry)));
                let steps: Vec<_> = steps.collect();
                self.change(|hub, wake| hub.take(revision, steps, wake));
            }
            Ok(Seen::Progress(revision)) => self.change(|hub, wake| hub.reach(revision, wake)),
            Err(error) => self.change(|hub, wake| hub.end(Ended::Lost(error), wake)),
        }
    }

    /// Changes it, and then wakes whom that concerns.
    fn change(&self, change: impl FnOnce(&mut Hub, &mut Vec<Waker>)) {
        let mut wake = Vec::new();
        let looked_at = {
            let mut hub = self.hub.lock();
            change(&mut hub, &mut wake);
            std::mem::take(&mut hub.watches.looked_at)
        };
        self.counted.asked.inc_by(looked_at);
        self.came.notify_all();
        wake.into_iter().for_each(Waker::wake);
    }

    /// The objects as of a revision or later; by default as of every write that was acknowledged before this call.
    pub(crate) async fn view(&self, least: Option<Revision>) -> Result<View, Refusal> {
        self.reach(least).await?;
        Ok(self.hub.lock().view())
    }

    /// Waits until it has come so far, for a while.
    pub(super) async fn reach(&self, least: Option<Revision>) -> Result<(), Refusal> {
        let least = match least {
            Some(least) => {
                // What is yet to happen the store has to come to first.
                self.store.reach(least).await?;
                least
            }
            None => self.store.revision().await?,
        };
        let until = Instant::now() + PATIENCE;
        loop {
            let came = self.came.listen();
            let reached = {
                let hub = self.hub.lock();
                if hub.reached >= least {
                    return Ok(());
                }
                if let Some(ended) = hub.ended() {
                    return Err(unavailable(ended));
                }
                hub.reached
            };
            if Instant::now() >= until {
                return Err(too_large(least, reached));
            }
            self.ask();
            let _ = timeout_at(until, came).await;
        }
    }

    /// Asks the store how far it is.
    pub(super) fn ask(&self) {
        if !self.asks.swap(true, Ordering::AcqRel) {
            self.nudge.notify_one();
        }
    }

    /// The task has to look when the next alarm is.
    pub(super) fn nudge(&self) {
        self.nudge.notify_one();
    }

    /// The tick that was last. Alarms of the one that is under way are still to come.
    pub(super) fn ticks(&self) -> u32 {
        let ticks = self.started.elapsed().as_millis() / TICK.as_millis();
        u32::try_from(ticks).unwrap_or(u32::MAX)
    }

    /// The first tick that is not before a moment.
    pub(super) fn tick(&self, at: Instant) -> u32 {
        let since = at.saturating_duration_since(self.started).as_micros().div_ceil(TICK.as_micros());
        u32::try_from(since).unwrap_or(u32::MAX)
    }

    /// Whether the store ended it. Another one can be had.
    pub(super) fn is_lost(&self) -> bool {
        matches!(self.hub.lock().ended(), Some(Ended::Lost(_)))
    }

    pub(super) fn is_ended(&self) -> bool {
        self.hub.lock().ended().is_some()
    }

    #[cfg(test)]
    pub(super) fn has_no_watches(&self) -> bool {
        self.hub.lock().watches.is_empty()
    }

    /// Under how many terms there are watches.
    #[cfg(test)]
    pub(super) fn terms(&self) -> usize {
        self.hub.lock().watches.terms()
    }
}

pub(super) fn stopped() -> Refusal {
    unavailable(&Ended::Stopped)
}

fn unavailable(ended: &Ended) -> Refusal {
    let why = match ended {
        Ended::Stopped => "the server stops".to_owned(),
        Ended::Replaced => "the kind is another one now: ask again".to_owned(),
        Ended::Lost(error) => error.to_string(),
    };
    Refusal { retry_after: Some(1), ..Refusal::new(503, "ServiceUnavailable", why) }
}

/// After so many objects others have their turn.
const TURN: usize = 256;

async fn until(alarm: Option<Instant>) {
    match alarm {
        Some(alarm) => sleep_until(alarm).await,
        None => std::future::pending().await,
    }
}
