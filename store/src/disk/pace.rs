//! How long to wait for company before a sync.

use std::thread;
use std::time::Duration;

use tokio::sync::mpsc::Receiver;
use tokio::time::Instant;

/// Those whom the last batch answered are about to ask again. Without them the next batch is one transaction, the rest waits
/// for two syncs, and half of all syncs are for one.
///
/// So the writer waits until as many are here as were last time, but at most for an eighth of what a sync takes. Whoever is
/// alone waits for nobody.
#[derive(Default)]
pub(crate) struct Pace {
    last: usize,
    now: usize,
    sync: Duration,
}

/// The part of a sync's time that is spent on waiting.
const PART: u32 = 8;
/// A wait that is shorter than this is spent on giving way to other threads: to sleep takes longer.
const NAP: Duration = Duration::from_micros(100);

impl Pace {
    /// Takes further requests, if it is worth it.
    pub(crate) fn gather<T>(&self, requests: &mut Receiver<T>, taken: &mut Vec<T>) {
        let limit = self.sync / PART;
        if taken.len() >= self.last || limit.is_zero() {
            return;
        }
        let begun = Instant::now();
        while taken.len() < self.last && begun.elapsed() < limit {
            match requests.try_recv() {
                Ok(request) => taken.push(request),
                Err(_) if limit > NAP => thread::park_timeout(NAP / 2),
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

    /// It was made durable in this time.
    pub(crate) fn wrote(&mut self, took: Duration) {
        self.last = self.now;
        self.sync = took;
    }
}
