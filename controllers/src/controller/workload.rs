//! Workloads of a worker: one key at a time, or a batch of keys.

use std::future::Future;
use std::panic::AssertUnwindSafe;
use std::sync::Arc;

use futures::FutureExt;
use machinery_objects::traced;
use machinery_sync::{Panic, contained};
use tokio::time::timeout;
use tracing::Instrument;
use tracing::field::Empty;

use super::begun_run::{BegunRun, keep_holding};
use super::outcome::Outcome;
use super::run::RunContext;
use super::traces::{self, PendingTrace};
use crate::own_writes::reporting;
use crate::reconcile::Run;
use crate::{Reconcile, Request};

/// The work of a worker.
pub(super) trait Workload<K: Request, S>: Send + Sync + Sized + 'static {
    /// Waits for keys and reconciles them; returns `false` at shutdown.
    fn work_once(number: usize, shared: &Arc<RunContext<K, S, Self>>) -> impl Future<Output = bool> + Send;
}

/// Runs of one key each.
pub(super) struct SingleRuns<R>(pub(super) R);

impl<K, S, R> Workload<K, S> for SingleRuns<R>
where
    K: Request,
    S: Send + Sync + 'static,
    R: Reconcile<S>,
{
    async fn work_once(number: usize, shared: &Arc<RunContext<K, S, Self>>) -> bool {
        let next = tokio::select! {
            biased;
            () = shared.stopping.cancelled() => None,
            next = shared.queue.get() => next,
        };
        let Some(work) = next else { return false };
        let inner = &shared.inner;
        if let Some(held) = inner.held_key(work.key()) {
            keep_holding(shared, work, held);
            return true;
        }
        let mut begun = BegunRun::begin(number, shared, work, Arc::default());
        let outcome = match contained(|| (inner.spec.subject)(begun.key())) {
            Ok(Some(subject)) => {
                let (key, caused_by) = (begun.work.key().clone(), begun.caused_by);
                reconcile_subject(shared, &key, &subject, caused_by.as_ref(), &mut begun.run).await
            }
            Ok(None) => Outcome::Absent,
            Err(panic) => Outcome::Panicked(panic.text().into()),
        };
        drop(std::mem::take(&mut *inner.workers[number].lock()));
        begun.end(shared, outcome);
        true
    }
}

async fn reconcile_subject<K: Request, S, R>(
    shared: &RunContext<K, S, SingleRuns<R>>,
    key: &K,
    subject: &S,
    caused_by: Option<&PendingTrace>,
    run: &mut Run,
) -> Outcome
where
    S: Send + Sync,
    R: Reconcile<S>,
{
    let RunContext { inner, reconcile: SingleRuns(reconcile), .. } = shared;
    let span = tracing::info_span!(
        "reconcile",
        controller = %inner.spec.name,
        object = %key,
        attempt = run.attempts,
        causes = ?run.causes,
        trace_id = Empty,
        span_id = Empty,
        parent_id = Empty,
        links = Empty,
        sampled = Empty,
        result = Empty,
    );
    run.trace = traces::start_span(&span, caused_by, &inner.ids);
    let (trace, run) = (run.trace, &*run);
    let writes = run.writes();
    // The call itself may panic before there is a future.
    let call = async { reconcile.reconcile(subject, run).await.map_err(|error| error.to_string().into()) };
    let call = AssertUnwindSafe(call).catch_unwind().instrument(span.clone());
    // The trace is set while the future is polled, so writers need no argument for it.
    let outcome = match timeout(inner.spec.settings.run_time, traced(trace, reporting(writes, call))).await {
        Ok(Ok(result)) => Outcome::of(result),
        Ok(Err(payload)) => Outcome::Panicked(Panic::of(payload).text().into()),
        Err(_) => Outcome::TimedOut,
    };
    span.record("result", outcome.name());
    if outcome.is_failure() {
        tracing::warn!(parent: &span, %outcome, "a run failed; it is retried after a back-off");
    }
    outcome
}
