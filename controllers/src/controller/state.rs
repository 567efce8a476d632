//! How a controller is.

use std::sync::atomic::{AtomicU64, Ordering::Relaxed};
use std::time::Duration;

use machinery_objects::WriteToken;
use machinery_workqueue::{Seen, Stats};

use super::{Outcome, RunRecord};

/// How a controller is, as of a moment.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct State<K> {
    /// How far it is.
    pub phase: Phase,
    /// Sources of which not everything that was there is in the queue yet.
    pub waits_for: Vec<String>,
    /// Runs that are under way.
    pub running: Vec<Running<K>>,
    /// What it has done since it was made.
    pub counts: Counts,
    /// Its queue's numbers, while it runs.
    pub queue: Option<Stats>,
}

/// How far a controller is.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub enum Phase {
    /// It does not run.
    #[default]
    Idle,
    /// It waits until all that is there is in the queue.
    Syncing,
    /// It works.
    Working,
    /// It takes nothing new, and lets what is under way end.
    Draining,
}

/// A run that is under way.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Running<K> {
    /// Of what.
    pub key: K,
    /// For how long.
    pub time: Duration,
    /// Whether that has been reported as too long.
    pub is_stuck: bool,
}

/// What a controller has done.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct Counts {
    /// Runs that ended, and how.
    pub done: u64,
    /// Runs that wanted to come again.
    pub after: u64,
    /// Keys of which there was no object.
    pub absent: u64,
    /// Runs that returned an error.
    pub failed: u64,
    /// Runs that panicked.
    pub panicked: u64,
    /// Runs that took too long.
    pub timed_out: u64,
    /// Runs that were dropped when it stopped.
    pub dropped: u64,
    /// Runs that were reported as stuck.
    pub stuck: u64,
    /// Keys that were let go before the informers showed what was written.
    pub cache_timeouts: u64,
    /// Events on which a function of a source panicked.
    pub source_panics: u64,
    /// How often a source waited for room in the queue.
    pub queue_full_waits: u64,
    /// Changes whose trace no run goes on with: too many keys wait with one.
    pub untraced: u64,
}

/// What is known of one key.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct Explanation<K> {
    /// Its last run, unless that is forgotten.
    pub last: Option<RunRecord>,
    /// Where it is in the queue, if it is.
    pub queued: Option<Seen<K>>,
    /// Since when its run is under way.
    pub running: Option<Duration>,
    /// What must be read before it runs again.
    pub held: Option<PendingWrites>,
}

/// A key that waits until what its last run [wrote](crate::Run::wrote) can be read.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct PendingWrites {
    /// For how long.
    pub time: Duration,
    /// What was written.
    pub writes: Vec<WriteToken>,
}

/// The counts where they are made.
#[derive(Default)]
pub(super) struct RunCounters {
    outcomes: [AtomicU64; 7],
    stuck: AtomicU64,
    cache_timeouts: AtomicU64,
    source_panics: AtomicU64,
    queue_full_waits: AtomicU64,
    untraced: AtomicU64,
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
