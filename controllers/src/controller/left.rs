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
pub struct Ended<K> {
    /// Keys whose run was dropped, as it did not end in time.
    pub dropped: Vec<K>,
    /// Keys that were queued, those dropped included: the first of them, if there are many. They are queued again when the controller runs
    /// again, each for the time it was queued for; how often it had failed is forgotten.
    pub left: Vec<K>,
    /// How many there were.
    pub left_count: usize,
}

/// So many are named.
const NAMED: usize = 1024;

/// A key that was queued when the controller ended.
pub(super) struct Left<K> {
    key: K,
    due: Instant,
    priority: Priority,
}

/// The reason that is shown of its next run.
const WHY: &&str = &"left before";

impl<K: Clone> Ended<K> {
    /// One that had not begun.
    pub(super) const fn before_it_began() -> Self {
        Self { dropped: Vec::new(), left: Vec::new(), left_count: 0 }
    }

    fn new(dropped: Vec<K>, left: &[Left<K>]) -> Self {
        let named = left.iter().take(NAMED).map(|left| left.key.clone());
        Self { dropped, left: named.collect(), left_count: left.len() }
    }
}

impl<K: Request, S> Inner<K, S> {
    /// Takes what is queued out of the way, for the run after this one. It is the only record of what was asked for by hand.
    pub(super) fn leave(&self, dropped: Vec<K>) {
        let Some(queue) = self.now.lock().queue.take() else { return };
        queue.close();
        let now = Instant::now();
        let left = contained(|| queue.list()).unwrap_or_default().into_iter().map(|seen| {
            let due = match seen.state {
                SeenState::Delayed { next } => now + next,
                _ => now,
            };
            Left { key: seen.key, due, priority: seen.priority }
        });
        let mut left: Vec<_> = left.collect();
        // A run that was dropped may have been the last try of its key: that is no reason to forget what was asked for.
        let given_up = dropped.iter().filter(|key| queue.see(key).is_none()).cloned();
        left.extend(given_up.map(|key| Left { key, due: now, priority: Priority::default() }));
        left.append(&mut self.left.lock());
        let ended = contained(|| Ended::new(dropped, &left)).ok();
        if !left.is_empty() {
            tracing::info!(controller = %self.made.name, keys = left.len(), "what was queued waits until the controller runs again");
        }
        *self.left.lock() = left;
        let before = mem::replace(&mut self.now.lock().ended, ended);
        drop(before);
    }

    /// Queues what was left. What there is no room for waits for the next time.
    pub(super) fn take_up(&self, queue: &Queue<K>) {
        let left = mem::take(&mut *self.left.lock());
        let (now, mut back) = (Instant::now(), Vec::new());
        for Left { key, due, priority } in left {
            let wait = due.saturating_duration_since(now);
            let add = Add::new().after(wait).priority(priority).cause(Cause::new(WHY, 0));
            // Whose key it is may be asked of a function of the user's.
            match contained(|| queue.add_with(key, add)) {
                Ok(Err(AddError::Full { key, .. } | AddError::Closed(key))) => {
                    self.tally.waited_for_room();
                    back.push(Left { key, due, priority });
                }
                Ok(Ok(_) | Err(_)) => {}
                Err(_) => self.tally.source_panics(),
            }
        }
        *self.left.lock() = back;
    }
}
