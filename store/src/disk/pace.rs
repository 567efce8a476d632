//! How long to wait for company before a sync.

use std::thread;
use std::time::Duration;

use tokio::sync::mpsc::Receiver;
use tokio::time::Instant;

/// Those whom the last batch answered are about to ask again, and those who came during its sync wait already. A batch of the
/// second alone leaves two groups that take turns, each waiting for two syncs; at worst half of all syncs are for one.
///
/// So the writer waits until as many are here as both were, but only for a part of what a sync takes. Whoever is alone waits
/// for nobody.
#[derive(Default)]
pub(crate) struct Pace {
    /// Transactions of the batch that is being made.
    now: usize,
    /// How many may come for the next one.
    expected: usize,
    /// What the last sync took.
    sync: Duration,
}

/// The part of a sync's time that is spent on waiting.
const PART: u32 = 4;
/// No wait is longer, however long the last sync took: it may have been one that nobody will see again.
const MOST: Duration = Duration::from_millis(5);
/// A wait that is shorter than this is spent on giving way to other threads: to sleep takes longer.
const NAP: Duration = Duration::from_micros(200);

impl Pace {
    /// Takes further requests, if it is worth it.
    pub(crate) fn gather<T>(&self, requests: &mut Receiver<T>, taken: &mut Vec<T>) {
        let limit = (self.sync / PART).min(MOST);
        if taken.len() >= self.expected || limit.is_zero() {
            return;
        }
        let begun = Instant::now();
        while taken.len() < self.expected && begun.elapsed() < limit {
            match requests.try_recv() {
                Ok(request) => taken.push(request),
                Err(_) if limit > NAP => thread::park_timeout(NAP / 4),
                Err(_) => thread::yield_now(),
            }
        }
    }

    /// A batch begins.
    pub(crate) fn begins(&mut self) {
        self.now = 0;
    }

    /// It has one transaction more.
    pub(crate) fn took_one(&mut self) {
        self.now += 1;
    }

    /// It was made durable in this time, while so many came.
    pub(crate) fn wrote(&mut self, took: Duration, waiting: usize) {
        self.expected = self.now + waiting;
        self.sync = took;
    }
}
