//! Runs of several keys in one call.

use std::num::NonZeroUsize;
use std::panic::AssertUnwindSafe;
use std::sync::Arc;

use futures::FutureExt;
use machinery_objects::traced;
use machinery_sync::{Panic, contained};
use tokio::time::timeout;
use tokio_util::sync::CancellationToken;
use tracing::Instrument;

use super::begun_run::{BegunRun, keep_holding};
use super::carry_over::ShutdownReport;
use super::handle::Controller;
use super::outcome::Outcome;
use super::run::{RunContext, RunError};
use super::workload::Workload;
use crate::own_writes::reporting;
use crate::reconcile::RunWrites;
use crate::{ReconcileBatch, Request};

/// Runs of up to `max` keys each.
struct BatchedRuns<R> {
    reconcile: R,
    max: NonZeroUsize,
}

impl<K: Request, S: Send + Sync + 'static> Controller<K, S> {
    /// Like [`run`](Self::run), with up to `max` ready keys in one call. It does not wait for more
    /// keys than are ready. The time limit of a run is that of the call.
    ///
    /// # Errors
    /// As [`run`](Self::run).
    pub async fn run_batches(
        &self,
        max: NonZeroUsize,
        reconcile: impl ReconcileBatch<S>,
        stopping: CancellationToken,
    ) -> Result<ShutdownReport<K>, RunError> {
        self.run_workload(BatchedRuns { reconcile, max }, stopping).await
    }
}

impl<K, S, R> Workload<K, S> for BatchedRuns<R>
where
    K: Request,
    S: Send + Sync + 'static,
    R: ReconcileBatch<S>,
{
    async fn work_once(number: usize, shared: &Arc<RunContext<K, S, Self>>) -> bool {
        let next = tokio::select! {
            biased;
            () = shared.stopping.cancelled() => None,
            next = shared.queue.get_batch(shared.reconcile.max.get()) => next,
        };
        let Some(batch) = next else { return false };
        let (inner, writes) = (&shared.inner, RunWrites::default());
        let (mut begun, mut subjects) = (Vec::new(), Vec::new());
        for work in batch {
            if let Some(held) = inner.held_key(work.key()) {
                keep_holding(shared, work, held);
                continue;
            }
            let run = BegunRun::begin(number, shared, work, writes.clone());
            let outcome = match contained(|| (inner.spec.subject)(run.key())) {
                Ok(Some(subject)) => {
                    subjects.push((subject, run.run.clone()));
                    begun.push(run);
                    continue;
                }
                Ok(None) => Outcome::Absent,
                Err(panic) => Outcome::Panicked(panic.text().into()),
            };
            inner.workers[number].lock().retain(|active| active.key != *run.key());
            run.end(shared, outcome);
        }
        if subjects.is_empty() {
            return true;
        }
        let outcomes = reconcile_subjects(shared, &begun, subjects, writes).await;
        drop(std::mem::take(&mut *inner.workers[number].lock()));
        for (run, outcome) in begun.into_iter().zip(outcomes) {
            run.end(shared, outcome);
        }
        true
    }
}

/// Calls the reconciler; returns an outcome for each run.
async fn reconcile_subjects<K: Request, S, R>(
    shared: &RunContext<K, S, BatchedRuns<R>>,
    begun: &[BegunRun<K, S, BatchedRuns<R>>],
    subjects: Vec<(S, crate::Run)>,
    writes: RunWrites,
) -> Vec<Outcome>
where
    S: Send + Sync + 'static,
    R: ReconcileBatch<S>,
{
    let RunContext { inner, reconcile, .. } = shared;
    let keys = begun.len();
    let span = tracing::info_span!("reconcile_batch", controller = %inner.spec.name, keys);
    // A batch has several causes: its writes are children of the newest change of its first key.
    let trace = begun.iter().find_map(|run| run.caused_by.map(|caused_by| caused_by.newest()));
    let call = async {
        let results = reconcile.reconcile.reconcile_batch(subjects).await;
        let outcome =
            |result: Result<_, R::Error>| Outcome::of(result.map_err(|error| error.to_string().into()));
        results.into_iter().map(outcome).collect::<Vec<_>>()
    };
    let call = AssertUnwindSafe(call).catch_unwind().instrument(span.clone());
    let result = timeout(inner.spec.settings.run_time, traced(trace, reporting(writes, call))).await;
    let mut outcomes = match result {
        Ok(Ok(outcomes)) => outcomes,
        Ok(Err(payload)) => vec![Outcome::Panicked(Panic::of(payload).text().into()); keys],
        Err(_) => vec![Outcome::TimedOut; keys],
    };
    let missing = || Outcome::Failed("the batch returned no result for this key".into());
    outcomes.resize_with(keys, missing);
    for (run, outcome) in begun.iter().zip(&outcomes).filter(|(_, outcome)| outcome.is_failure()) {
        tracing::warn!(parent: &span, object = %run.key(), %outcome, "a run failed; it is retried after a back-off");
    }
    outcomes
}
