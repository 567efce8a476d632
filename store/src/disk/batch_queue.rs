//! Batches of requests for one sync: queued requests, and those that arrive during a short wait.

use std::thread;
use std::time::Duration;

use tokio::sync::mpsc::Receiver;
use tokio::time::Instant;

/// Maximum number of requests in a batch.
const MAX_BATCH: usize = 1024;
/// Divisor of the last sync's duration, for the maximum wait.
const WAIT_FRACTION: u32 = 4;
/// Maximum wait: the last sync may have been unusually long.
const MAX_WAIT: Duration = Duration::from_millis(5);
/// Shorter waits yield to other threads instead of sleeping, which would take longer.
const SLEEP_THRESHOLD: Duration = Duration::from_micros(200);

/// The queue of requests, taken in batches.
///
/// Clients answered by the last batch are about to send their next request, and clients that
/// arrived during its sync are already queued. A batch of the second group alone would leave two
/// groups that alternate, each waiting for two syncs; at worst half of all syncs are for one
/// request.
///
/// So a batch waits until it has as many requests as both groups together, but only for a fraction
/// of a sync. A single client never waits. Requests are processed while the batch fills.
pub(crate) struct BatchQueue<T> {
    requests: Receiver<T>,
    /// The first request of the batch.
    first: Option<T>,
    /// Number of requests taken.
    taken: usize,
    begun: Instant,
    /// Number of requests expected.
    expected: usize,
    /// Duration of the last sync.
    sync: Duration,
}

impl<T> BatchQueue<T> {
    pub(crate) fn new(requests: Receiver<T>) -> Self {
        let (first, begun, sync) = (None, Instant::now(), Duration::ZERO);
        Self { requests, first, taken: 0, begun, expected: 0, sync }
    }

    /// Waits for the first request of a batch. Returns false if all senders are gone.
    pub(crate) fn begin(&mut self) -> bool {
        self.first = self.requests.blocking_recv();
        self.taken = 0;
        self.begun = Instant::now();
        self.first.is_some()
    }

    /// Returns the next request of this batch, or `None` if it is complete or not worth a longer
    /// wait.
    pub(crate) fn next(&mut self) -> Option<T> {
        let next = match self.first.take() {
            None if self.taken < MAX_BATCH => self.requests.try_recv().ok().or_else(|| self.wait(pause)),
            first => first,
        };
        self.taken += usize::from(next.is_some());
        next
    }

    fn wait(&mut self, mut pause: impl FnMut(Duration)) -> Option<T> {
        let limit = (self.sync / WAIT_FRACTION).min(MAX_WAIT);
        while self.taken < self.expected && self.begun.elapsed() < limit {
            pause(limit);
            if let Ok(request) = self.requests.try_recv() {
                return Some(request);
            }
        }
        None
    }

    /// Records that the batch was synced in `took`.
    pub(crate) fn synced(&mut self, transactions: usize, took: Duration) {
        self.expected = transactions + self.requests.len();
        self.sync = took;
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.requests.is_empty()
    }

    /// Refuses new requests. Queued ones are still taken.
    pub(crate) fn close(&mut self) {
        self.requests.close();
    }
}

fn pause(limit: Duration) {
    if limit > SLEEP_THRESHOLD {
        thread::park_timeout(SLEEP_THRESHOLD / 4);
    } else {
        thread::yield_now();
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use tokio::sync::mpsc::{Sender, channel};

    fn queue(waiting: usize) -> (Sender<usize>, BatchQueue<usize>) {
        let (sender, receiver) = channel(2 * MAX_BATCH);
        for request in 0..waiting {
            sender.try_send(request).expect("there is room");
        }
        (sender, BatchQueue::new(receiver))
    }

    fn batch(queue: &mut BatchQueue<usize>) -> Vec<usize> {
        assert!(queue.begin());
        std::iter::from_fn(|| queue.next()).collect()
    }

    #[test]
    fn a_batch_takes_queued_requests_up_to_its_limit() {
        let (sender, mut queue) = queue(MAX_BATCH + 2);
        assert!(batch(&mut queue).into_iter().eq(0..MAX_BATCH));
        assert_eq!(batch(&mut queue), [MAX_BATCH, MAX_BATCH + 1]);
        sender.try_send(7).expect("there is room");
        queue.close();
        assert_eq!(batch(&mut queue), [7], "what was asked before is still answered");
        assert!(!queue.begin());
    }

    #[test]
    fn a_batch_waits_for_the_clients_of_the_last_one() {
        let (sender, mut queue) = queue(2);
        assert_eq!(batch(&mut queue), [0, 1]);
        sender.try_send(2).expect("there is room");
        queue.synced(2, Duration::from_secs(60));
        assert_eq!(queue.expected, 3);
        assert!(queue.begin());
        queue.begun += Duration::from_secs(3600); // however slow this machine is
        assert_eq!(queue.next(), Some(2));
        let mut pauses = 0;
        for request in [3, 4] {
            let comes = |_| {
                pauses += 1;
                sender.try_send(request).expect("there is room");
            };
            assert_eq!(queue.wait(comes), Some(request));
            queue.taken += 1;
        }
        assert_eq!((pauses, queue.wait(|_| panic!("all are here"))), (2, None));
    }

    #[test]
    fn a_batch_waits_at_most_a_fraction_of_a_sync() {
        let (sender, mut queue) = queue(1);
        queue.synced(64, Duration::from_millis(1));
        assert_eq!(batch(&mut queue), [0]);
        queue.synced(64, Duration::from_secs(3600));
        sender.try_send(1).expect("there is room");
        assert_eq!(batch(&mut queue), [1]);
    }
}
