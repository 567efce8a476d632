//! Batches of changes, from the queue to the port.

use std::collections::{BTreeMap, VecDeque};
use std::sync::Arc;
use std::time::Duration;

use futures::future::BoxFuture;
use futures::stream::{FuturesUnordered, StreamExt as _};
use machinery_workqueue::{Queue, Work};
use tokio::time::{Instant, sleep_until};

use super::batch::ChangeBatch;
use super::call::{Broken, contained};
use super::shared::{ChangeOf, ErrorOf, KeyOf, Shared};
use super::{ActuatorPort, ItemFailure, PortFailure};

/// A batch in flight.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Lane {
    /// Of many changes, with the time of its start.
    Shared(Instant),
    /// Of one change that hung or panicked before.
    Isolated,
}

impl<P: ActuatorPort + ?Sized> Shared<P> {
    /// Applies the changes of queued keys. Returns when the queue is closed.
    pub(super) async fn dispatch(self: &Arc<Self>, queue: &Queue<KeyOf<P>>) {
        let (mut lanes, mut suspects) = (FuturesUnordered::<BoxFuture<'_, Lane>>::new(), VecDeque::new());
        let (mut shared, mut isolated) = (Vec::<Instant>::new(), 0);
        loop {
            while isolated < self.settings.isolated.max(1)
                && let Some(work) = suspects.pop_front()
            {
                isolated += 1;
                lanes.push(Box::pin(self.attempt(vec![work], Lane::Isolated)));
            }
            // The next batch collects changes until the others have ended, or are slow.
            let next = async {
                if shared.len() >= self.settings.lanes.max(1) {
                    std::future::pending::<()>().await;
                }
                self.gate_opens().await;
                if let Some(last) = shared.iter().max() {
                    sleep_until(*last + self.settings.slow_after).await;
                }
                queue.get_batch(self.settings.batch.max(1)).await
            };
            tokio::select! {
                biased;
                Some(lane) = lanes.next() => match lane {
                    Lane::Shared(start) => {
                        if let Some(index) = shared.iter().position(|other| *other == start) {
                            shared.swap_remove(index);
                        }
                    }
                    Lane::Isolated => isolated -= 1,
                },
                batch = next => {
                    let Some(batch) = batch else { return };
                    let (alone, together): (Vec<_>, Vec<_>) = {
                        let state = self.state.lock();
                        batch.into_iter().partition(|work| state.ledger.is_suspect(work.key()))
                    };
                    suspects.extend(alone);
                    if !together.is_empty() {
                        let start = Instant::now();
                        shared.push(start);
                        lanes.push(Box::pin(self.attempt(together, Lane::Shared(start))));
                    }
                }
            }
        }
    }

    /// Applies the changes of keys, each of which is in flight until its result is known.
    async fn attempt(self: &Arc<Self>, works: Vec<Work<KeyOf<P>>>, lane: Lane) -> Lane {
        let (mut pending, mut changes) = (BTreeMap::new(), Vec::new());
        {
            let mut state = self.state.lock();
            for work in works {
                let key = work.key().clone();
                state.attempt(&key);
                if let Some(change) = state.ledger.begin(&key) {
                    pending.insert(key, (work, change.clone()));
                    changes.push(change);
                } else {
                    state.respond(&key, Ok(()));
                    work.done();
                }
            }
        }
        if changes.is_empty() {
            return lane;
        }
        let batch = ChangeBatch::new(changes);
        let mut call = std::pin::pin!(contained(|| self.port.apply(&batch)));
        let result = loop {
            let result = tokio::select! {
                biased;
                () = batch.reported() => None,
                result = &mut call => Some(result.map_err(Broken::Panicked)),
                () = batch.progress().stalled(self.settings.time_limit) => Some(Err(Broken::TimedOut)),
            };
            for (key, result) in batch.take_results() {
                // Keys of no change are nonsense.
                if let Some((work, change)) = pending.remove(&key) {
                    self.finish(work, change, result.map_err(ItemFailure::Failed));
                }
            }
            if let Some(result) = result {
                break result;
            }
        };
        match result {
            Ok(Ok(())) => {
                self.recover();
                for (work, change) in pending.into_values() {
                    self.finish(work, change, Ok(()));
                }
            }
            Ok(Err(error)) => self.interrupt(pending, PortFailure::Failed(error)),
            Err(broken) => self.isolate(pending, broken),
        }
        lane
    }

    /// Ends an attempt with a result.
    fn finish(&self, work: Work<KeyOf<P>>, change: ChangeOf<P>, result: Result<(), ItemFailure<ErrorOf<P>>>) {
        let key = work.key().clone();
        let (end, is_failure) = {
            let mut state = self.state.lock();
            let end = state.ledger.finish(change, result.clone());
            state.respond(&key, result.clone());
            (end, result.is_err())
        };
        match result {
            Err(failure) => {
                if end.is_news {
                    tracing::warn!(actuator = %self.name, ?key, %failure, "a change failed; retrying");
                }
                let _ = work.retry(failure);
            }
            Ok(()) if end.is_due => work.after(Duration::ZERO),
            Ok(()) => work.done(),
        }
        if end.is_news || is_failure {
            self.changed();
        }
    }

    /// Ends the attempts of a batch whose port failed. Their keys are tried again with the port.
    fn interrupt(&self, pending: Pending<P>, failure: PortFailure<ErrorOf<P>>) {
        for (key, (work, change)) in pending {
            let mut state = self.state.lock();
            state.ledger.interrupt(change, false);
            state.attempt_again(&key);
            drop(state);
            work.after(self.settings.backoff.0);
        }
        self.degrade(failure);
    }

    /// Ends the attempts of a batch that hung or panicked: they are tried again one by one, so that
    /// the cause is found and delays no other.
    fn isolate(&self, pending: Pending<P>, broken: Broken) {
        let limit = self.settings.time_limit;
        let failure = match broken {
            Broken::Panicked(text) => ItemFailure::Panicked { text },
            Broken::TimedOut => ItemFailure::TimedOut { limit },
        };
        let is_alone = pending.len() == 1;
        if pending.len() > 1 {
            tracing::warn!(actuator = %self.name, items = pending.len(), %failure, "a batch failed; its changes are repeated one by one");
        }
        for (key, (work, change)) in pending {
            if is_alone {
                self.finish(work, change, Err(failure.clone()));
                continue;
            }
            let mut state = self.state.lock();
            state.ledger.interrupt(change, true);
            state.attempt_again(&key);
            drop(state);
            work.after(Duration::ZERO);
        }
    }
}

type Pending<P> = BTreeMap<KeyOf<P>, (Work<KeyOf<P>>, ChangeOf<P>)>;
