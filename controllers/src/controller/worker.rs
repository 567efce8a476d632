//! Workers: take keys and reconcile them, until shutdown.

use std::panic::AssertUnwindSafe;
use std::sync::Arc;

use futures::FutureExt;
use machinery_sync::Panic;
use tokio::task::JoinSet;
use tokio::time::{Instant, timeout_at};

use super::handle::{ActiveRun, Inner};
use super::held_key::HeldKey;
use super::outcome::{Outcome, RunRecord};
use super::run::RunContext;
use super::workload::Workload;
use crate::Request;

pub(super) fn spawn_workers<K, S, R>(shared: &Arc<RunContext<K, S, R>>) -> JoinSet<()>
where
    K: Request,
    S: Send + Sync + 'static,
    R: Workload<K, S>,
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
    R: Workload<K, S>,
{
    loop {
        // Catches panics of user code outside of the reconciler: clone or display of a key, drop of
        // a subject. The dropped work item is retried.
        match AssertUnwindSafe(R::work_once(number, &shared)).catch_unwind().await {
            Ok(true) => {}
            Ok(false) => return,
            Err(payload) => {
                drop(std::mem::take(&mut *shared.inner.workers[number].lock()));
                shared.inner.counters.finished(&Outcome::Panicked(Panic::of(payload).text().into()));
            }
        }
    }
}

impl<K: Request, S> Inner<K, S> {
    /// Clears the active runs of dropped workers, and returns their keys.
    pub(super) fn abandon_active_runs(&self) -> Vec<K> {
        let mut keys = Vec::new();
        for worker in &self.workers {
            let active = std::mem::take(&mut *worker.lock());
            for ActiveRun { key, since: began, causes, attempts, writes, .. } in active {
                // Writes of a dropped run hold its key, too.
                let waits = writes.lock().clone();
                if let Some(held) = HeldKey::new(waits, self.spec.settings.cache_timeout) {
                    let before = self.held.lock().insert(key.clone(), held);
                    drop(before);
                }
                self.counters.finished(&Outcome::Dropped);
                let (took, outcome) = (began.elapsed(), Outcome::Dropped);
                self.records.lock().put(&key, RunRecord { began, took, attempts, causes, outcome, runs: 0 });
                keys.push(key);
            }
        }
        keys
    }

    /// Returns the hold of a key, unless its deadline has passed.
    pub(super) fn held_key(&self, key: &K) -> Option<HeldKey> {
        let held = self.held.lock().get(key).cloned()?;
        if !held.is_over(Instant::now()) {
            return Some(held);
        }
        self.release_hold(key, false);
        None
    }

    /// Releases a key: its writes are visible, or the deadline has passed.
    pub(super) fn release_hold(&self, key: &K, visible: bool) {
        if !visible {
            self.counters.cache_timeouts();
        }
        let held = self.held.lock().remove(key);
        drop(held);
    }
}
