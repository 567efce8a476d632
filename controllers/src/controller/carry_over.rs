//! What a controller leaves when it ends, and takes up when it runs again.

use std::mem;

use machinery_sync::contained;
use machinery_workqueue::{Add, AddError, Cause, Priority, Queue, SeenState};
use tokio::time::Instant;

use super::handle::Inner;
use crate::Request;

/// How a run of a controller ended.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct ShutdownReport<K> {
    /// Keys whose run was dropped, as it did not end in time.
    pub dropped: Vec<K>,
    /// Keys that were queued, those dropped included: the first of them, if there are many. They are queued again when the controller runs
    /// again, each for the time it was queued for; how often it had failed is forgotten.
    pub queued: Vec<K>,
    /// How many there were.
    pub queued_count: usize,
}

/// So many are named.
const MAX_NAMED: usize = 1024;

/// A key that was queued when the controller ended.
pub(super) struct QueuedKey<K> {
    key: K,
    due: Instant,
    priority: Priority,
}

/// The reason that is shown of its next run.
const CAUSE: &&str = &"left before";

impl<K: Clone> ShutdownReport<K> {
    /// One that had not begun.
    pub(super) const fn not_started() -> Self {
        Self { dropped: Vec::new(), queued: Vec::new(), queued_count: 0 }
    }

    fn new(dropped: Vec<K>, left: &[QueuedKey<K>]) -> Self {
        let named = left.iter().take(MAX_NAMED).map(|left| left.key.clone());
        Self { dropped, queued: named.collect(), queued_count: left.len() }
    }
}

impl<K: Request, S> Inner<K, S> {
    /// Takes what is queued out of the way, for the run after this one. It is the only record of what was asked for by hand.
    pub(super) fn carry_over(&self, dropped: Vec<K>) {
        let Some(queue) = self.lifecycle.lock().queue.take() else { return };
        queue.close();
        let now = Instant::now();
        let left = contained(|| queue.list()).unwrap_or_default().into_iter().map(|seen| {
            let due = match seen.state {
                SeenState::Delayed { next } => now + next,
                _ => now,
            };
            QueuedKey { key: seen.key, due, priority: seen.priority }
        });
        let mut left: Vec<_> = left.collect();
        // A run that was dropped may have been the last try of its key: that is no reason to forget what was asked for.
        let given_up = dropped.iter().filter(|key| queue.see(key).is_none()).cloned();
        left.extend(given_up.map(|key| QueuedKey { key, due: now, priority: Priority::default() }));
        left.append(&mut self.carried_over.lock());
        let report = contained(|| ShutdownReport::new(dropped, &left)).ok();
        if !left.is_empty() {
            tracing::info!(controller = %self.spec.name, keys = left.len(), "what was queued waits until the controller runs again");
        }
        *self.carried_over.lock() = left;
        let before = mem::replace(&mut self.lifecycle.lock().last_shutdown, report);
        drop(before);
    }

    /// Queues what was left. What there is no room for waits for the next time.
    pub(super) fn restore_queued(&self, queue: &Queue<K>) {
        let left = mem::take(&mut *self.carried_over.lock());
        let (now, mut not_added) = (Instant::now(), Vec::new());
        for QueuedKey { key, due, priority } in left {
            let wait = due.saturating_duration_since(now);
            let add = Add::new().after(wait).priority(priority).cause(Cause::new(CAUSE, 0));
            // Whose key it is may be asked of a function of the user's.
            match contained(|| queue.add_with(key, add)) {
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
