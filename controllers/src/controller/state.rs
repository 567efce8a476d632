//! State and counters of a controller.

use std::sync::atomic::{AtomicU64, Ordering::Relaxed};
use std::time::Duration;

use machinery_objects::WriteToken;
use machinery_workqueue::{KeyStatus, Stats};

use super::{Outcome, RunRecord};
use crate::WriteFight;

/// Snapshot of the state of a controller.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct State<K> {
    /// Phase of the controller.
    pub phase: Phase,
    /// Sources that have not synced yet.
    pub waits_for: Vec<String>,
    /// Active runs.
    pub running: Vec<Running<K>>,
    /// Counts since the controller was built.
    pub counts: Counts,
    /// Statistics of the queue, while the controller runs.
    pub queue: Option<Stats>,
}

/// Phase of a controller.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub enum Phase {
    /// Not running.
    #[default]
    Idle,
    /// Waiting for the initial sync of its sources.
    Syncing,
    /// Reconciling.
    Working,
    /// Shutting down: no new runs, active runs drain.
    Draining,
}

/// An active run.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Running<K> {
    /// Key of the run.
    pub key: K,
    /// Time since the start of the run.
    pub time: Duration,
    /// Whether the run was reported as stuck, after [`stuck_after`](crate::Settings::stuck_after).
    pub is_stuck: bool,
}

/// Counts of a controller.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct Counts {
    /// Runs that returned `Done`.
    pub done: u64,
    /// Runs that requested a requeue after a delay.
    pub after: u64,
    /// Keys without an object.
    pub absent: u64,
    /// Runs that returned an error.
    pub failed: u64,
    /// Runs that panicked.
    pub panicked: u64,
    /// Runs that exceeded their time limit.
    pub timed_out: u64,
    /// Runs dropped at shutdown.
    pub dropped: u64,
    /// Runs reported as stuck.
    pub stuck: u64,
    /// Held keys that were released before the informers had reached their writes.
    pub cache_timeouts: u64,
    /// Panics of map functions and other user code in sources.
    pub source_panics: u64,
    /// Attempts to add a key to a full queue.
    pub queue_full_waits: u64,
    /// Changes without a recorded trace, because too many keys have one pending.
    pub untraced: u64,
    /// Events of own writes, which requested no run.
    pub own_events: u64,
}

/// Explanation of one key.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct Explanation<K> {
    /// Last run of the key, if recorded.
    pub last: Option<RunRecord>,
    /// State of the key in the queue, if queued.
    pub queued: Option<KeyStatus<K>>,
    /// Time since the start of the active run of the key, if there is one.
    pub running: Option<Duration>,
    /// Writes that the caches do not show yet; they delay the next run of the key.
    pub held: Option<PendingWrites>,
    /// Write fights of the key's runs, which delay the next one.
    pub fights: Vec<WriteFight>,
}

/// Pending [writes](crate::Run::wrote) of a held key.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct PendingWrites {
    /// Time since the key is held.
    pub time: Duration,
    /// Tokens of the writes.
    pub writes: Vec<WriteToken>,
}

/// Atomic counters behind [`Counts`].
#[derive(Default)]
pub(super) struct RunCounters {
    outcomes: [AtomicU64; 7],
    stuck: AtomicU64,
    cache_timeouts: AtomicU64,
    source_panics: AtomicU64,
    queue_full_waits: AtomicU64,
    untraced: AtomicU64,
    own_events: AtomicU64,
}

impl RunCounters {
    pub(super) fn finished(&self, outcome: &Outcome) {
        self.outcomes[outcome_index(outcome)].fetch_add(1, Relaxed);
    }

    pub(super) fn stuck(&self) {
        self.stuck.fetch_add(1, Relaxed);
    }

    pub(super) fn cache_timeouts(&self) {
        self.cache_timeouts.fetch_add(1, Relaxed);
    }

    pub(super) fn source_panics(&self) {
        self.source_panics.fetch_add(1, Relaxed);
    }

    pub(super) fn queue_full_waits(&self) {
        self.queue_full_waits.fetch_add(1, Relaxed);
    }

    pub(super) fn untraced(&self) {
        self.untraced.fetch_add(1, Relaxed);
    }

    pub(super) fn own_events(&self, events: usize) {
        self.own_events.fetch_add(events as u64, Relaxed);
    }

    pub(super) fn counts(&self) -> Counts {
        let [done, after, absent, failed, panicked, timed_out, dropped] =
            self.outcomes.each_ref().map(|count| count.load(Relaxed));
        Counts {
            done,
            after,
            absent,
            failed,
            panicked,
            timed_out,
            dropped,
            stuck: self.stuck.load(Relaxed),
            cache_timeouts: self.cache_timeouts.load(Relaxed),
            source_panics: self.source_panics.load(Relaxed),
            queue_full_waits: self.queue_full_waits.load(Relaxed),
            untraced: self.untraced.load(Relaxed),
            own_events: self.own_events.load(Relaxed),
        }
    }
}

const fn outcome_index(outcome: &Outcome) -> usize {
    match outcome {
        Outcome::Done => 0,
        Outcome::After(_) => 1,
        Outcome::Absent => 2,
        Outcome::Failed(_) => 3,
        Outcome::Panicked(_) => 4,
        Outcome::TimedOut => 5,
        Outcome::Dropped => 6,
    }
}
