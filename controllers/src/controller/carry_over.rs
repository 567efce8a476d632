//! Shutdown of a controller: queued keys are reported, and requeued at the next start.

use std::mem;

use machinery_sync::contained;
use machinery_workqueue::{Add, AddError, Cause, KeyState, Priority, Queue};
use tokio::time::Instant;

use super::handle::Inner;
use crate::Request;

/// Result of a run of a controller.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct ShutdownReport<K> {
    /// Keys of runs that were dropped at the drain timeout.
    pub dropped: Vec<K>,
    /// Keys that were queued at shutdown, including dropped ones; at most the first 1024. They are
    /// requeued at the next start with their remaining delay; their failure counts are reset.
    pub queued: Vec<K>,
    /// Number of keys that were queued at shutdown.
    pub queued_count: usize,
}

/// Limit of reported keys.
const MAX_NAMED: usize = 1024;

/// A key that was queued when the controller stopped.
pub(super) struct QueuedKey<K> {
    // No failure count: a new leader in another process would not know it either.
    key: K,
    due: Instant,
    priority: Priority,
}

/// The cause of a requeued key.
const CAUSE: &&str = &"left before";

impl<K: Clone> ShutdownReport<K> {
    /// Report of a controller that was cancelled before it started.
    pub(super) const fn not_started() -> Self {
        Self { dropped: Vec::new(), queued: Vec::new(), queued_count: 0 }
    }

    fn new(dropped: Vec<K>, left: &[QueuedKey<K>]) -> Self {
        let named = left.iter().take(MAX_NAMED).map(|left| left.key.clone());
        Self { dropped, queued: named.collect(), queued_count: left.len() }
    }
}

impl<K: Request, S> Inner<K, S> {
    /// Moves the queued keys to the next start. Explicit requests are recorded nowhere else.
    pub(super) fn carry_over(&self, dropped: Vec<K>) {
        let Some(queue) = self.lifecycle.lock().queue.take() else { return };
        queue.close();
        let now = Instant::now();
        let left = contained(|| queue.list()).unwrap_or_default().into_iter().map(|seen| {
            // A time, not a delay: the pause before the next start counts towards it.
            let due = match seen.state {
                KeyState::Delayed { next } => now + next,
                _ => now,
            };
            QueuedKey { key: seen.key, due, priority: seen.priority }
        });
        let mut left: Vec<_> = left.collect();
        // A dropped run may have been the last allowed attempt of its key; the request is kept.
        let given_up = dropped.iter().filter(|key| queue.status(key).is_none()).cloned();
        left.extend(given_up.map(|key| QueuedKey { key, due: now, priority: Priority::default() }));
        // Keys that did not fit into this run's queue are still waiting there.
        left.append(&mut self.carried_over.lock());
        let report = contained(|| ShutdownReport::new(dropped, &left)).ok();
        if !left.is_empty() {
            tracing::info!(controller = %self.spec.name, keys = left.len(), "queued keys are carried over to the next start");
        }
        *self.carried_over.lock() = left;
        let before = mem::replace(&mut self.lifecycle.lock().last_shutdown, report);
        drop(before);
    }

    /// Requeues carried-over keys; keys beyond the queue's capacity wait for a later start.
    pub(super) fn restore_queued(&self, queue: &Queue<K>) {
        let left = mem::take(&mut *self.carried_over.lock());
        let (now, mut not_added) = (Instant::now(), Vec::new());
        for QueuedKey { key, due, priority } in left {
            let wait = due.saturating_duration_since(now);
            let add = Add::new().after(wait).priority(priority).cause(Cause::new(CAUSE, 0));
            // The tenant function of the queue is user code and may panic.
            match contained(|| queue.add_with(key, add)) {
                // Not waited for: no worker runs yet that would free capacity.
                Ok(Err(AddError::Full { key, .. } | AddError::Closed(key))) => {
                    self.counters.queue_full_waits();
                    not_added.push(QueuedKey { key, due, priority });
                }
                Ok(Ok(_) | Err(_)) => {}
                Err(_) => self.counters.source_panics(),
            }
        }
        *self.carried_over.lock() = not_added;
    }
}
