//! Turns: creators of counted objects in a namespace wait for each other within one server, instead
//! of conflicting.
//!
//! Correctness does not depend on turns: two servers have separate wait queues, and the transaction
//! enforces the quota. Without them, all but one of the concurrent creators would count in vain,
//! each time.

use std::hash::BuildHasher as _;

use foldhash::fast::FixedState;
use tokio::sync::{Mutex, MutexGuard, Notify};

use crate::flowcontrol::without_seat;

/// Number of wait queues; a namespace is mapped to one by its hash.
const LINES: usize = 64;

/// The wait queues of a server, and the signal that its kinds changed.
pub(crate) struct Turns {
    // A fixed number needs no removal; namespaces that share a queue only wait longer.
    lines: [Mutex<()>; LINES],
    kinds: Notify,
}

/// Given back when it is dropped.
pub(crate) struct Turn<'a>(#[expect(dead_code, reason = "it is held")] MutexGuard<'a, ()>);

impl Turns {
    pub(crate) fn new() -> Self {
        Self { lines: std::array::from_fn(|_| Mutex::new(())), kinds: Notify::new() }
    }

    /// Waits for a turn, first in, first out. Dropping the future leaves the wait queue.
    pub(super) async fn take(&self, namespace: &str) -> Turn<'_> {
        let hash = FixedState::default().hash_one(namespace);
        let line = usize::try_from(hash % LINES as u64).unwrap_or_default();
        Turn(without_seat(self.lines[line].lock()).await)
    }

    /// Signals that the served kinds changed: keys may count other kinds.
    pub(crate) fn kinds_changed(&self) {
        self.kinds.notify_one();
    }

    /// Waits for that signal. Signals without a waiter are merged into one.
    pub(crate) async fn other_kinds(&self) {
        self.kinds.notified().await;
    }
}
