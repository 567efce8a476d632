//! Workers: take a key, reconcile it, and finish its work item.

use std::panic::AssertUnwindSafe;
use std::sync::Arc;
use std::time::Duration;

use futures::FutureExt;
use machinery_objects::traced;
use machinery_sync::{Panic, contained};
use machinery_workqueue::{Add, Work};
use tokio::task::JoinSet;
use tokio::time::{Instant, sleep, timeout, timeout_at};
use tracing::Instrument;
use tracing::field::Empty;

use super::handle::{ActiveRun, Inner};
use super::held_key::HeldKey;
use super::open_window::OpenWindow;
use super::outcome::{Outcome, RunRecord};
use super::run::RunContext;
use super::traces::{self, PendingTrace};
use crate::own_writes::reporting;
use crate::reconcile::Run;
use crate::{Reconcile, Request};

pub(super) fn spawn_workers<K, S, R>(shared: &Arc<RunContext<K, S, R>>) -> JoinSet<()>
where
    K: Request,
    S: Send + Sync + 'static,
    R: Reconcile<S>,
{
    let mut workers = JoinSet::new();
    for number in 0..shared.inner.workers.len() {
        // A task for each: in one task, a run that computes for a second would block all others.
        workers.spawn(worker_loop(number, shared.clone()));
    }
    workers
}

/// Waits for active runs, and drops them at the drain timeout.
pub(super) async fn drain_workers<K: Request, S, R>(
    shared: &RunContext<K, S, R>,
    mut workers: JoinSet<()>,
) -> Vec<K> {
    let all = async { while workers.join_next().await.is_some() {} };
    let Some(until) = Instant::now().checked_add(shared.inner.spec.settings.drain) else {
        all.await;
        return Vec::new();
    };
    if timeout_at(until, all).await.is_ok() {
        return Vec::new();
    }
    workers.abort_all();
    // A blocking run continues until it returns; its key must not run concurrently.
    while workers.join_next().await.is_some() {}
    let inner = &shared.inner;
    let dropped = inner.abandon_active_runs();
    tracing::warn!(controller = %inner.spec.name, runs = dropped.len(), "runs exceeding the drain timeout are dropped");
    dropped
}

async fn worker_loop<K, S, R>(number: usize, shared: Arc<RunContext<K, S, R>>)
where
    K: Request,
    S: Send + Sync + 'static,
    R: Reconcile<S>,
{
    loop {
        // Catches panics of user code outside of the reconciler: clone or display of a key, drop of
        // a subject. The dropped work item is retried.
        match AssertUnwindSafe(work_once(number, &shared)).catch_unwind().await {
            Ok(true) => {}
            Ok(false) => return,
            Err(payload) => {
                drop(shared.inner.workers[number].lock().take());
                shared.inner.counters.finished(&Outcome::Panicked(Panic::of(payload).text().into()));
            }
        }
    }
}

/// Processes one work item; returns `false` at shutdown.
async fn work_once<K, S, R>(number: usize, shared: &Arc<RunContext<K, S, R>>) -> bool
where
    K: Request,
    S: Send + Sync + 'static,
    R: Reconcile<S>,
{
    let next = tokio::select! {
        biased;
        () = shared.stopping.cancelled() => None,
        next = shared.queue.get() => next,
    };
    let Some(work) = next else { return false };
    process(number, shared, work).await;
    true
}

async fn process<K, S, R>(number: usize, shared: &Arc<RunContext<K, S, R>>, work: Work<K>)
where
    K: Request,
    S: Send + Sync + 'static,
    R: Reconcile<S>,
{
    let inner = &shared.inner;
    if let Some(held) = inner.held_key(work.key()) {
        return keep_holding(shared, work, held);
    }
    let (began, causes) = (Instant::now(), work.causes());
    let mut run = Run::of(&work, causes, shared.run_stopping.clone());
    *inner.workers[number].lock() = Some(ActiveRun {
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
    let outcome = match contained(|| (inner.spec.subject)(work.key())) {
        Ok(Some(subject)) => {
            reconcile_subject(shared, work.key(), &subject, caused_by.as_ref(), &mut run).await
        }
        Ok(None) => Outcome::Absent,
        Err(panic) => Outcome::Panicked(panic.text().into()),
    };
    // A retry has no event: it stays a child of the change that caused the first run.
    if let Some(waiting) = caused_by.filter(|_| outcome.is_failure()) {
        shared.traces.put_back(work.key(), waiting);
    }
    drop(inner.workers[number].lock().take());
    inner.counters.finished(&outcome);
    let took = began.elapsed();
    let record =
        RunRecord { began, took, attempts: work.attempts(), causes, outcome: outcome.clone(), runs: 0 };
    inner.records.lock().put(work.key(), record);
    let Some(held) = HeldKey::new(run.take_writes(), inner.spec.settings.cache_timeout) else {
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
        // On shutdown the next start of the controller waits for it.
        let passed = async {
            let visible = held.visible().await;
            if visible {
                // At the deadline a late event requests a run too many.
                let _ = timeout_at(held.until(), window.delivered(held.writes())).await;
            }
            visible
        };
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

/// Holds a key whose writes were pending when the controller stopped, without occupying a worker.
/// On shutdown the hold is kept for the next start and nothing runs.
fn keep_holding<K: Request, S, R>(shared: &Arc<RunContext<K, S, R>>, work: Work<K>, held: HeldKey)
where
    S: Send + Sync + 'static,
    R: Reconcile<S>,
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

impl<K: Request, S> Inner<K, S> {
    /// Clears the active runs of dropped workers, and returns their keys.
    pub(super) fn abandon_active_runs(&self) -> Vec<K> {
        let mut keys = Vec::new();
        for worker in &self.workers {
            let Some(busy) = worker.lock().take() else { continue };
            let ActiveRun { key, since: began, causes, attempts, writes, .. } = busy;
            // Writes of a dropped run hold its key, too.
            let waits = std::mem::take(&mut *writes.lock());
            if let Some(held) = HeldKey::new(waits, self.spec.settings.cache_timeout) {
                let before = self.held.lock().insert(key.clone(), held);
                drop(before);
            }
            self.counters.finished(&Outcome::Dropped);
            let (took, outcome) = (began.elapsed(), Outcome::Dropped);
            self.records.lock().put(&key, RunRecord { began, took, attempts, causes, outcome, runs: 0 });
            keys.push(key);
        }
        keys
    }

    /// Returns the hold of a key, unless its deadline has passed.
    fn held_key(&self, key: &K) -> Option<HeldKey> {
        let held = self.held.lock().get(key).cloned()?;
        if !held.is_over(Instant::now()) {
            return Some(held);
        }
        self.release_hold(key, false);
        None
    }

    /// Releases a key: its writes are visible, or the deadline has passed.
    fn release_hold(&self, key: &K, visible: bool) {
        if !visible {
            self.counters.cache_timeouts();
        }
        let held = self.held.lock().remove(key);
        drop(held);
    }
}

async fn reconcile_subject<K: Request, S, R>(
    shared: &RunContext<K, S, R>,
    key: &K,
    subject: &S,
    caused_by: Option<&PendingTrace>,
    run: &mut Run,
) -> Outcome
where
    S: Send + Sync,
    R: Reconcile<S>,
{
    let RunContext { inner, reconcile, .. } = shared;
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

fn finish_work<K: Request>(work: Work<K>, outcome: &Outcome) {
    match outcome {
        Outcome::Done | Outcome::Absent => work.done(),
        Outcome::After(delay) => work.after(*delay),
        failure => drop(work.retry(failure)),
    }
}
