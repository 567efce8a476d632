//! The watch cache of one kind: one task applies the store's changes, all requests read.

use std::sync::Arc;
use std::task::Waker;
use std::time::Duration;

use machinery_objects::Revision;
use machinery_store::{Range, Watch, WatchError, WatchItem};
use machinery_sync::atomic::{AtomicBool, Ordering};
use machinery_sync::{Mutex, Notify};
use tokio::time::{Instant, sleep_until, timeout_at};
use tokio_util::sync::CancellationToken;

use super::hub::{Hub, ObjectChange, StopReason};
use super::objects::IndexedObjects;
use super::ring::RingBudget;
use super::{ObjectState, View};
use crate::flowcontrol::without_seat;
use crate::guard::Guard;
use crate::kind::Kind;
use crate::metrics::SelectionCounters;
use crate::refusal::Refusal;
use crate::storage::{self, Moment, PATIENCE, too_large};

/// The objects of one kind and their watchers.
pub(crate) struct WatchCache {
    pub(crate) kind: Arc<Kind>,
    guards: Vec<Arc<dyn Guard>>,
    pub(super) store: storage::Objects,
    pub(super) hub: Mutex<Hub>,
    /// Set while a progress request to the store is due.
    progress_requested: AtomicBool,
    /// Wakes the task for a progress request or an earlier alarm.
    nudge: tokio::sync::Notify,
    /// Notified after each change.
    changed: Notify,
    started: Instant,
    pub(super) counted: SelectionCounters,
}

/// The resolution of alarms.
const TICK: Duration = Duration::from_millis(100);

impl WatchCache {
    /// Lists the objects and opens the store's watch.
    pub(super) async fn load(
        (kind, guards): (Arc<Kind>, Vec<Arc<dyn Guard>>),
        store: storage::Objects,
        limits: RingBudget,
        seed: u64,
        counted: SelectionCounters,
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
            states.push(ObjectState::of(&kind, &guards, entry));
        }
        let objects = IndexedObjects::new(kind.selectable.len(), seed, states);
        let cache = Self {
            hub: Mutex::new(Hub::new(kind.clone(), objects, listed.at, limits, seed)),
            kind,
            guards,
            store,
            progress_requested: AtomicBool::new(false),
            nudge: tokio::sync::Notify::new(),
            changed: Notify::new(),
            started: Instant::now(),
            counted,
        };
        Ok((Arc::new(cache), watch))
    }

    /// Applies changes from the store until the watch is lost, the kind replaced or the server
    /// stopped.
    pub(super) async fn run(&self, mut watch: Watch, stopping: &CancellationToken) {
        let mut is_replaced = false;
        loop {
            // One timer for all watches, so that an idle watch costs no time.
            let alarm = self.hub.lock().watches.next_alarm().map(|tick| self.started + TICK * tick);
            tokio::select! {
                biased;
                () = stopping.cancelled() => self.update(|hub, wake| hub.end(StopReason::Stopped, wake)),
                last = self.kind.replaced.wait(), if !is_replaced => {
                    is_replaced = true;
                    self.update(|hub, wake| hub.replaced(*last, wake));
                    // A kind without changes reaches its last revision only by a progress mark.
                    watch.request_progress();
                }
                () = self.nudge.notified() => {
                    if self.progress_requested.swap(false, Ordering::AcqRel) {
                        watch.request_progress();
                    }
                }
                seen = watch.next() => self.receive(seen),
                () = until(alarm) => {
                    let now = self.ticks();
                    self.update(|hub, wake| hub.watches.fire_alarms(now, wake));
                }
            }
            if self.hub.lock().ended().is_some() {
                return;
            }
        }
    }

    fn receive(&self, seen: Result<WatchItem, WatchError>) {
        match seen {
            Ok(WatchItem::Changes { revision, events }) => {
                let steps = events.into_iter().map(|event| {
                    ObjectChange::of(event, |entry| ObjectState::of(&self.kind, &self.guards, entry))
                });
                let steps: Vec<_> = steps.collect();
                self.update(|hub, wake| hub.apply(revision, steps, wake));
            }
            Ok(WatchItem::Progress(revision)) => self.update(|hub, wake| hub.advance(revision, wake)),
            Err(error) => self.update(|hub, wake| hub.end(StopReason::Lost(error), wake)),
        }
    }

    /// Changes the hub and then, without the lock, wakes watchers.
    fn update(&self, change: impl FnOnce(&mut Hub, &mut Vec<Waker>)) {
        let mut wake = Vec::new();
        let examined = {
            let mut hub = self.hub.lock();
            change(&mut hub, &mut wake);
            std::mem::take(&mut hub.watches.examined)
        };
        self.counted.asked.inc_by(examined);
        self.changed.notify_all();
        wake.into_iter().for_each(Waker::wake);
    }

    /// Returns a view at `least` or later; without `least` a consistent read, which includes all
    /// writes acknowledged before the call.
    pub(crate) async fn view(&self, least: Option<Revision>) -> Result<View, Refusal> {
        self.reach(least).await?;
        Ok(self.hub.lock().view())
    }

    /// Waits, up to a timeout, until the cache has reached a revision.
    pub(super) async fn reach(&self, least: Option<Revision>) -> Result<(), Refusal> {
        let least = match least {
            Some(least) => {
                // A revision in the future must first be committed to the store.
                self.store.reach(least).await?;
                least
            }
            None => self.store.revision().await?,
        };
        let until = Instant::now() + PATIENCE;
        loop {
            // Before the check: a change between check and wait is not missed.
            let changed = self.changed.listen();
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
            // Writes of other kinds advance the store without an event of this kind.
            self.request_progress();
            let _ = without_seat(timeout_at(until, changed)).await;
        }
    }

    /// Requests the store's progress.
    pub(super) fn request_progress(&self) {
        // The flag carries the request: earlier alarms notify the task as well.
        if !self.progress_requested.swap(true, Ordering::AcqRel) {
            self.nudge.notify_one();
        }
    }

    /// Wakes the task to recompute the next alarm.
    pub(super) fn nudge(&self) {
        self.nudge.notify_one();
    }

    /// Returns the last complete tick; alarms of the current one are still due.
    pub(super) fn ticks(&self) -> u32 {
        let ticks = self.started.elapsed().as_millis() / TICK.as_millis();
        u32::try_from(ticks).unwrap_or(u32::MAX)
    }

    /// Returns the first tick at or after an instant.
    pub(super) fn tick(&self, at: Instant) -> u32 {
        let since = at.saturating_duration_since(self.started).as_micros().div_ceil(TICK.as_micros());
        u32::try_from(since).unwrap_or(u32::MAX)
    }

    /// Returns whether the store's watch was lost. A new cache can be created.
    pub(super) fn is_lost(&self) -> bool {
        matches!(self.hub.lock().ended(), Some(StopReason::Lost(_)))
    }

    pub(super) fn is_ended(&self) -> bool {
        self.hub.lock().ended().is_some()
    }

    #[cfg(test)]
    pub(super) fn has_no_watches(&self) -> bool {
        self.hub.lock().watches.is_empty()
    }

    /// Returns the number of terms in the index.
    #[cfg(test)]
    pub(super) fn terms(&self) -> usize {
        self.hub.lock().watches.terms()
    }
}

pub(super) fn stopped() -> Refusal {
    unavailable(&StopReason::Stopped)
}

fn unavailable(ended: &StopReason) -> Refusal {
    let why = match ended {
        StopReason::Stopped => "the server stops".to_owned(),
        StopReason::Replaced => "the kind is another one now: ask again".to_owned(),
        StopReason::Lost(error) => error.to_string(),
    };
    Refusal { retry_after: Some(1), ..Refusal::new(503, "ServiceUnavailable", why) }
}

/// Objects parsed before the task yields.
const TURN: usize = 256;

async fn until(alarm: Option<Instant>) {
    match alarm {
        Some(alarm) => sleep_until(alarm).await,
        None => std::future::pending().await,
    }
}
