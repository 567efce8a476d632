//! Turns: who creates what is counted in a namespace waits for the others of this server, instead of losing to them.
//!
//! Nothing rests on it: two servers have two lines, and what holds is the transaction. Without it, of so many who come at once all but one
//! would have counted in vain, each time.

use std::hash::BuildHasher as _;

use foldhash::fast::FixedState;
use tokio::sync::{Mutex, MutexGuard, Notify};

/// So many namespaces can have their turns at once; others share one.
const LINES: usize = 64;

/// The lines of a server, and word that other kinds are served.
pub(crate) struct Turns {
    lines: [Mutex<()>; LINES],
    kinds: Notify,
}

/// Given back when it is dropped.
pub(crate) struct Turn<'a>(#[expect(dead_code, reason = "it is held")] MutexGuard<'a, ()>);

impl Turns {
    pub(crate) fn new() -> Self {
        Self { lines: std::array::from_fn(|_| Mutex::new(())), kinds: Notify::new() }
    }

    /// Waits for a turn, in the order of coming. Who drops this future is in line no more.
    pub(super) async fn take(&self, namespace: &str) -> Turn<'_> {
        let hash = FixedState::default().hash_one(namespace);
        let line = usize::try_from(hash % LINES as u64).unwrap_or_default();
        Turn(self.lines[line].lock().await)
    }

    /// Other kinds are served than were: what keys count may be something else.
    pub(crate) fn kinds_changed(&self) {
        self.kinds.notify_one();
    }

    /// Waits for that. What came while nobody waited is one change.
    pub(crate) async fn other_kinds(&self) {
        self.kinds.notified().await;
    }
}
