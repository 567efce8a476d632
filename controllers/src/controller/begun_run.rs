//! A run from its begin to the completion of its work item.

use std::sync::Arc;
use std::time::Duration;

use machinery_workqueue::{Add, Causes, Work};
use tokio::time::{Instant, sleep, timeout_at};

use super::handle::ActiveRun;
use super::held_key::HeldKey;
use super::open_window::OpenWindow;
use super::outcome::{Outcome, RunRecord};
use super::run::RunContext;
use super::traces::PendingTrace;
use crate::Request;
use crate::reconcile::{Run, RunWrites};

/// A run that has begun. Dropped without an end, its window is closed before its key is retried.
pub(super) struct BegunRun<K: Request, S, R> {
    window: OpenWindow<K, S, R>,
    pub(super) work: Work<K>,
    began: Instant,
    causes: Causes,
    pub(super) caused_by: Option<PendingTrace>,
    pub(super) run: Run,
}

impl<K: Request, S: Send + Sync + 'static, R: Send + Sync + 'static> BegunRun<K, S, R> {
    /// Registers the run of a work item as active, with the writes that it will report.
    pub(super) fn begin(
        number: usize,
        shared: &Arc<RunContext<K, S, R>>,
        work: Work<K>,
        writes: RunWrites,
    ) -> Self {
        let (began, causes) = (Instant::now(), work.causes());
        let run = Run::of(&work, causes, shared.run_stopping.clone(), writes);
        shared.inner.workers[number].lock().push(ActiveRun {
            key: work.key().clone(),
            since: began,
            causes,
            attempts: work.attempts(),
            writes: run.writes(),
            is_stuck: false,
        });
        let window = OpenWindow::open(shared, work.key());
        // Before the subject is read: a later change requests a run of its own, with its trace.
        let caused_by = shared.traces.take(work.key());
        Self { window, work, began, causes, caused_by, run }
    }

    pub(super) fn key(&self) -> &K {
        self.work.key()
    }

    /// Records the outcome and completes the work item, once the caches show the run's writes.
    pub(super) fn end(self, shared: &Arc<RunContext<K, S, R>>, outcome: Outcome) {
        let Self { window, work, began, causes, caused_by, run } = self;
        let inner = &shared.inner;
        // A retry has no event: it stays a child of the change that caused the first run.
        if let Some(waiting) = caused_by.filter(|_| outcome.is_failure()) {
            shared.traces.put_back(work.key(), waiting);
        }
        inner.counters.finished(&outcome);
        let took = began.elapsed();
        let record =
            RunRecord { began, took, attempts: work.attempts(), causes, outcome: outcome.clone(), runs: 0 };
        inner.records.lock().put(work.key(), record);
        let Some(held) = HeldKey::new(run.reported_writes(), inner.spec.settings.cache_timeout) else {
            window.close(&[]);
            return finish_work(work, &outcome);
        };
        // The key stays in flight without a worker: no other key waits for these writes.
        work.hold();
        // Named, as a temporary would be dropped under the lock: waits hold types of users.
        let before = inner.held.lock().insert(work.key().clone(), held.clone());
        drop(before);
        let shared = shared.clone();
        shared.tasks.clone().spawn(async move {
            let passed = async {
                let visible = held.visible().await;
                if visible {
                    // At the deadline a late event requests a run too many.
                    let _ = timeout_at(held.until(), window.delivered(held.writes())).await;
                }
                visible
            };
            // On shutdown the next start of the controller waits for it.
            if let Some(visible) = shared.stopping.run_until_cancelled(passed).await {
                shared.inner.release_hold(work.key(), visible);
            }
            let delay = window.close(held.writes());
            // A write fight: the key stays in flight, and events meanwhile become one run.
            if !delay.is_zero() {
                shared.stopping.run_until_cancelled(sleep(delay)).await;
            }
            finish_work(work, &outcome);
        });
    }
}

/// Holds a key with writes that were pending when the controller stopped, without occupying a
/// worker.
/// On shutdown the hold is kept for the next start and nothing runs.
pub(super) fn keep_holding<K: Request, S, R>(shared: &Arc<RunContext<K, S, R>>, work: Work<K>, held: HeldKey)
where
    S: Send + Sync + 'static,
    R: Send + Sync + 'static,
{
    work.hold();
    let shared = shared.clone();
    shared.tasks.clone().spawn(async move {
        if let Some(visible) = shared.stopping.run_until_cancelled(held.visible()).await {
            shared.inner.release_hold(work.key(), visible);
        }
        // Requeues with the same causes: this is neither a failure nor a result.
        for (cause, _) in work.causes().iter() {
            let _ =
                shared.queue.add_with(work.key().clone(), Add::new().priority(work.priority()).cause(cause));
        }
        work.after(Duration::ZERO);
    });
}

fn finish_work<K: Request>(work: Work<K>, outcome: &Outcome) {
    match outcome {
        Outcome::Done | Outcome::Absent => work.done(),
        Outcome::After(delay) => work.after(*delay),
        failure => drop(work.retry(failure)),
    }
}
