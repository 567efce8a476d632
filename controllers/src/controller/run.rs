//! A running controller: sources, then workers, then shutdown.

use std::sync::{Arc, OnceLock};
use std::time::Duration;

use machinery_informers::deliver::DeliveryProgress;
use machinery_informers::{InformerId, ReflectorError};
use machinery_sync::contained;
use machinery_workqueue::{ConfigError, Queue};
use tokio::time::Instant;
use tokio_util::sync::CancellationToken;
use tokio_util::task::TaskTracker;

use super::carry_over::ShutdownReport;
use super::feed::ParkedRequest;
use super::handle::{Controller, Inner};
use super::start::{first_source_end, start_sources, wait_for_sync};
use super::state::Phase;
use super::traces::Traces;
use super::workload::{SingleRuns, Workload};
use super::{watchdog, worker};
use crate::own_writes::WriteWindows;
use crate::{OwnWrites, Reconcile, Request};

/// Error of a controller's run.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum RunError {
    /// The controller is running already.
    #[error("the controller is running already: wait until it has stopped, or build another one")]
    Runs,
    /// The queue cannot be created.
    #[error("the controller's queue cannot be created")]
    Queue(#[from] ConfigError),
    /// A source did not sync in time.
    #[error(
        "{source_name} did not sync within {after:?}: {}; or raise Settings::sync_time",
        .trouble.as_ref().map_or("check that its informer runs, and its state".into(), ToString::to_string)
    )]
    NotSynced {
        /// Name of the source.
        source_name: String,
        /// [`Settings::sync_time`](crate::Settings::sync_time).
        after: Duration,
        /// The last error of its informer, if there is one.
        trouble: Option<ReflectorError>,
    },
    /// The objects of a source can never be listed: its kind is not served, or its selection is
    /// refused.
    #[error(
        "{source_name} cannot be listed: {trouble}. Pass the type to PlaneBuilder::kinds, or create its definition \
         before the start; a selected field has to be one of the `selectableFields` of the definition"
    )]
    Refused {
        /// Name of the source.
        source_name: String,
        /// The error of its informer.
        trouble: ReflectorError,
    },
    /// The informer of a source has stopped.
    #[error("the informer of {source_name} has stopped: stop informers after the controllers")]
    SourceEnded {
        /// Name of the source.
        source_name: String,
    },
}

/// State shared by all tasks of a running controller.
pub(super) struct RunContext<K: Request, S, R> {
    pub(super) inner: Arc<Inner<K, S>>,
    pub(super) reconcile: R,
    pub(super) queue: Queue<K>,
    pub(super) traces: Arc<Traces<K>>,
    /// Windows of the keys in flight; `None` if own writes request runs.
    pub(super) windows: Option<Arc<WriteWindows<K, ParkedRequest>>>,
    /// The informers of the sources, and the progress of their events; set once they have started.
    pub(super) progress: OnceLock<Vec<(InformerId, DeliveryProgress)>>,
    /// Cancelled at shutdown: no new run starts.
    pub(super) stopping: CancellationToken,
    /// The token that runs receive; a child of `stopping`.
    pub(super) run_stopping: CancellationToken,
    /// Tracks the tasks that wait for caches.
    pub(super) tasks: TaskTracker,
    /// Releases the controller when its last worker has ended.
    _running: RunGuard<K, S>,
}

impl<K: Request, S: Send + Sync + 'static> Controller<K, S> {
    /// Reconciles until the token is cancelled. The first run starts when all sources have synced.
    /// Shutdown drains active runs for at most [`Settings::drain`](crate::Settings::drain); a run
    /// that blocks its thread is waited for beyond that. Queued keys are
    /// [reported](ShutdownReport::queued) and requeued at the next start, together with all objects
    /// of that time.
    ///
    /// Dropping the future drops the active runs. The controller can run again once they have
    /// ended: at once, unless one of them blocks its thread.
    ///
    /// # Errors
    /// The controller is running already, or a source did not sync or has stopped.
    pub async fn run(
        &self,
        reconcile: impl Reconcile<S>,
        stopping: CancellationToken,
    ) -> Result<ShutdownReport<K>, RunError> {
        self.run_workload(SingleRuns(reconcile), stopping).await
    }

    pub(super) async fn run_workload<R: Workload<K, S>>(
        &self,
        reconcile: R,
        stopping: CancellationToken,
    ) -> Result<ShutdownReport<K>, RunError> {
        let inner = &self.0;
        if stopping.is_cancelled() {
            return Ok(ShutdownReport::not_started());
        }
        let running = RunGuard::acquire(inner)?;
        let queue = Queue::new((inner.spec.queue)())?;
        // Holds outlive a restart: the caches may still lack writes of the runs before it.
        inner.held.lock().retain(|_, held| !held.is_over(Instant::now()));
        let stop = stopping.child_token();
        let _ends = stop.clone().drop_guard();
        let tasks = TaskTracker::new();
        // Before the sources fill the queue: no informer repeats an explicit request.
        inner.restore_queued(&queue);
        inner.enter(Phase::Syncing, Some(queue.clone()));
        let shared = Arc::new(RunContext {
            inner: inner.clone(),
            reconcile,
            queue,
            traces: Arc::new(Traces::new(inner.spec.seed)),
            windows: (inner.spec.settings.own_writes == OwnWrites::Ignore)
                .then(|| Arc::new(WriteWindows::new(inner.spec.seed))),
            progress: OnceLock::new(),
            stopping: stop.clone(),
            run_stopping: stop.child_token(),
            tasks: tasks.clone(),
            _running: running,
        });
        let mut dropped = Vec::new();
        let ran = run_until_stopped(&shared, &mut dropped).await;
        stop.cancel();
        shared.queue.close();
        tasks.close();
        // Held keys finish their work items before the queue is listed for the next start.
        tasks.wait().await;
        inner.carry_over(dropped);
        ran.map(|()| self.last_shutdown().unwrap_or_else(ShutdownReport::not_started))
    }
}

/// Runs from the start of the sources to the end of the last worker.
async fn run_until_stopped<K, S, R>(
    shared: &Arc<RunContext<K, S, R>>,
    dropped: &mut Vec<K>,
) -> Result<(), RunError>
where
    K: Request,
    S: Send + Sync + 'static,
    R: Workload<K, S>,
{
    let RunContext { inner, queue, stopping, tasks, .. } = &**shared;
    let sources = match start_sources(shared) {
        Err(_) if stopping.is_cancelled() => return Ok(()),
        sources => sources?,
    };
    if !wait_for_sync(inner, &sources, stopping).await? {
        return Ok(());
    }
    inner.enter(Phase::Working, Some(queue.clone()));
    tracing::info!(controller = %inner.spec.name, workers = inner.spec.settings.workers, "the controller has started");
    tasks.spawn(watchdog::watch(inner.clone(), stopping.clone()));
    let workers = worker::spawn_workers(shared);
    let ended = tokio::select! {
        biased;
        () = stopping.cancelled() => None,
        name = first_source_end(&sources) => Some(name),
    };
    // Informers that stop together with the controller may be faster.
    let stop_requested = stopping.is_cancelled();
    inner.enter(Phase::Draining, Some(queue.clone()));
    stopping.cancel();
    queue.close();
    *dropped = worker::drain_workers(shared, workers).await;
    match ended {
        Some(source_name) if !stop_requested => Err(RunError::SourceEnded { source_name }),
        _ => Ok(()),
    }
}

/// Ensures that the controller runs once at a time.
struct RunGuard<K: Request, S>(Arc<Inner<K, S>>);

impl<K: Request, S> RunGuard<K, S> {
    fn acquire(inner: &Arc<Inner<K, S>>) -> Result<Self, RunError> {
        let ran = std::mem::replace(&mut inner.lifecycle.lock().is_running, true);
        if ran { Err(RunError::Runs) } else { Ok(Self(inner.clone())) }
    }
}

impl<K: Request, S> Drop for RunGuard<K, S> {
    fn drop(&mut self) {
        // After a dropped future this is the only trace of the active runs. Cloning a key is user
        // code and may panic.
        let stored = contained(|| self.0.carry_over(self.0.abandon_active_runs()));
        if let Err(panic) = stored {
            tracing::error!(controller = %self.0.spec.name, %panic, "the queued keys are lost");
        }
        self.0.enter(Phase::Idle, None);
    }
}

impl<K: Request, S> Inner<K, S> {
    fn enter(&self, phase: Phase, queue: Option<Queue<K>>) {
        let mut now = self.lifecycle.lock();
        now.phase = phase;
        let before = std::mem::replace(&mut now.queue, queue);
        if phase == Phase::Idle {
            now.waits_for.clear();
            now.is_running = false;
        }
        // The queue is dropped outside of the lock: destructors of keys are user code.
        drop(now);
        drop(before);
    }
}
