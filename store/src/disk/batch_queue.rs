//! What a batch is made of: everything that is asked by the time that its sync begins, and how long that waits for company.

use std::thread;
use std::time::Duration;

use tokio::sync::mpsc::Receiver;
use tokio::time::Instant;

/// As many requests are taken into one batch at most.
const MAX_BATCH: usize = 1024;
/// The part of a sync's time that is spent on waiting.
const WAIT_FRACTION: u32 = 4;
/// No wait is longer, however long the last sync took: it may have been one that nobody will see again.
const MAX_WAIT: Duration = Duration::from_millis(5);
/// A wait that is shorter than this is spent on giving way to other threads: to sleep takes longer.
const SLEEP_THRESHOLD: Duration = Duration::from_micros(200);

/// The requests, by batches.
///
/// Those whom the last batch answered are about to ask again, and those who came during its sync wait already. A batch of the
/// second alone leaves two groups that take turns, each waiting for two syncs; at worst half of all syncs are for one.
///
/// So a batch waits until as many are in it as both were, but only for a part of what a sync takes. Whoever is alone waits
/// for nobody. What has come is worked on meanwhile.
pub(crate) struct BatchQueue<T> {
    requests: Receiver<T>,
    /// What the batch begins with.
    first: Option<T>,
    /// How many the batch has.
    taken: usize,
    begun: Instant,
    /// How many may come for it.
    expected: usize,
    /// What the last sync took.
    sync: Duration,
}

impl<T> BatchQueue<T> {
    pub(crate) fn new(requests: Receiver<T>) -> Self {
        let (first, begun, sync) = (None, Instant::now(), Duration::ZERO);
        Self { requests, first, taken: 0, begun, expected: 0, sync }
    }

    /// Begins a batch with the next request, and waits for it. False: nobody can ask for anything more.
    pub(crate) fn begin(&mut self) -> bool {
        self.first = self.requests.blocking_recv();
        self.taken = 0;
        self.begun = Instant::now();
        self.first.is_some()
    }

    /// The next request of this batch. `None`: it has all, or what is still to come is not worth the wait.
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

    /// The batch, of so many transactions, was made durable in this time.
    pub(crate) fn synced(&mut self, transactions: usize, took: Duration) {
        self.expected = transactions + self.requests.len();
        self.sync = took;
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.requests.is_empty()
    }

    /// Nobody can ask any more. What was asked is still to be taken.
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
