//! Schedules maintenance: decides when a checkpoint is due, and runs jobs in a thread or inline.

use std::io;
use std::sync::Arc;
use std::sync::mpsc::{SyncSender, sync_channel};
use std::thread::JoinHandle;
use std::time::Duration;

use machinery_sync::Mutex;
use machinery_sync::atomic::{AtomicBool, Ordering};
use tokio::sync::oneshot;
use tokio::time::Instant;

use super::maintenance::{CheckpointJob, Maintenance, MaintenanceJob};
use crate::core::Core;
use crate::shared::Shared;

/// Capacity of the job queue. A job that does not fit is skipped, which costs time or disk space
/// only.
const JOB_CAPACITY: usize = 64;

pub(crate) struct MaintenanceScheduler {
    executor: Executor,
    state: Arc<State>,
    /// Bytes of log since the last checkpoint was started.
    log_bytes: u64,
    checkpoint_bytes: u64,
    /// Whether a spare segment was requested since the last segment was full.
    has_spare: bool,
}

enum Executor {
    Thread(Option<SyncSender<MaintenanceJob>>, Option<JoinHandle<()>>),
    Inline(Box<Maintenance>),
}

/// State shared by the scheduler and the worker.
#[derive(Default)]
pub(crate) struct State {
    status: Mutex<MaintenanceStatus>,
    /// Aborts the running job.
    cancelled: AtomicBool,
    /// Pause of the worker after each chunk.
    pause: Duration,
}

#[derive(Default)]
struct MaintenanceStatus {
    running: bool,
    /// The failed write after which the store accepts no more writes.
    poison: Option<Arc<str>>,
    /// The reason why commits are refused at the moment: a full disk.
    full: Option<Arc<str>>,
    /// The failure of the last checkpoint.
    failure: Option<Arc<str>>,
    /// Time of the next attempt of a checkpoint after a temporary failure.
    retry: Option<Instant>,
    /// Time of the next attempt to make a spare segment after a failure.
    retry_spare: Option<Instant>,
}

/// Time after which a job that lacked a file descriptor is tried again.
const RETRY: Duration = Duration::from_secs(1);

/// Pause of a background worker: about as long as writing a chunk takes.
const PAUSE: Duration = Duration::from_millis(2);

impl State {
    pub(crate) fn new(background: bool) -> Arc<Self> {
        Arc::new(Self { pause: if background { PAUSE } else { Duration::ZERO }, ..Self::default() })
    }

    /// Returns the condition that needs an operator, if any.
    pub(crate) fn trouble(&self) -> Option<Arc<str>> {
        let status = self.status.lock();
        status.poison.clone().or_else(|| status.full.clone()).or_else(|| status.failure.clone())
    }

    pub(crate) fn note_poison(&self, why: &Arc<str>) {
        self.status.lock().poison = Some(Arc::clone(why));
    }

    /// Requests another attempt to make a spare segment that lacked a file descriptor.
    pub(crate) fn retry_spare(&self) {
        self.status.lock().retry_spare = Some(Instant::now() + RETRY);
    }

    /// Requests another attempt of a checkpoint that lacked a file descriptor.
    pub(crate) fn retry_checkpoint(&self) {
        self.status.lock().retry = Some(Instant::now() + RETRY);
    }

    /// Pauses to leave the disk to commits; fails once the store is closing.
    pub(crate) fn throttle(&self) -> io::Result<()> {
        std::thread::park_timeout(self.pause);
        if self.cancelled.load(Ordering::Relaxed) {
            return Err(io::Error::new(io::ErrorKind::Interrupted, "the store was closed meanwhile"));
        }
        Ok(())
    }
}

impl MaintenanceScheduler {
    /// Starts the worker. `log_bytes` is the size of the log after the newest checkpoint.
    pub(crate) fn new(
        mut worker: Maintenance,
        background: bool,
        checkpoint_bytes: u64,
        log_bytes: u64,
    ) -> io::Result<Self> {
        let state = Arc::clone(&worker.state);
        let executor = if background {
            let (sender, jobs) = sync_channel(JOB_CAPACITY);
            let thread = std::thread::Builder::new()
                .name("machinery-store-upkeep".into())
                .spawn(move || jobs.into_iter().for_each(|job| worker.run(job)))?;
            Executor::Thread(Some(sender), Some(thread))
        } else {
            Executor::Inline(Box::new(worker))
        };
        Ok(Self { executor, state, log_bytes, checkpoint_bytes, has_spare: false })
    }

    /// Records that the store accepts no more writes.
    pub(crate) fn note_poison(&self, why: &Arc<str>) {
        self.state.note_poison(why);
    }

    /// Records that the disk is full, or no longer full.
    pub(crate) fn note_full(&self, why: Option<Arc<str>>) {
        self.state.status.lock().full = why;
    }

    pub(crate) fn wrote(&mut self, bytes: u64) {
        self.log_bytes += bytes;
    }

    /// Records that a log segment is full.
    pub(crate) fn rotated(&mut self, number: u64) {
        self.has_spare = false;
        self.submit(MaintenanceJob::Rotated(number));
    }

    /// Requests a spare segment.
    pub(crate) fn request_spare(&mut self) {
        let retries = {
            let mut status = self.state.status.lock();
            status.retry_spare.take_if(|at| *at <= Instant::now()).is_some()
        };
        if !self.has_spare || retries {
            self.has_spare = true;
            self.submit(MaintenanceJob::Spare);
        }
    }

    /// Starts a checkpoint if the log is longer than `checkpoint_bytes` and than the store's data:
    /// the disk would otherwise write checkpoints mostly.
    pub(crate) fn checkpoint_if_due(&mut self, core: &Core, shared: &Arc<Shared>) {
        let is_long = self.log_bytes > self.checkpoint_bytes.max(core.used());
        let is_due = {
            let status = self.state.status.lock();
            (is_long || status.retry.is_some_and(|at| at <= Instant::now())) && !status.running
        };
        // After a failed write the table has versions that were never published.
        if is_due && core.head() == shared.current() {
            self.checkpoint(shared, None);
        }
    }

    /// Starts a checkpoint of the published state, which must be all that is in the table.
    pub(crate) fn checkpoint(
        &mut self,
        shared: &Arc<Shared>,
        reply: Option<oneshot::Sender<io::Result<()>>>,
    ) {
        // At the start: after a failure the next attempt waits for as much log again.
        self.log_bytes = 0;
        {
            let mut status = self.state.status.lock();
            (status.running, status.retry) = (true, None);
        }
        let state = Arc::clone(&self.state);
        let done = Box::new(move |made: io::Result<()>| {
            let mut status = state.status.lock();
            status.running = false;
            let answer = match made {
                Ok(()) => {
                    status.failure = None;
                    Ok(())
                }
                Err(error) => {
                    status.failure = Some(format!("the last checkpoint failed: {error}").into());
                    Err(error)
                }
            };
            drop(status);
            if let Some(reply) = reply {
                let _ = reply.send(answer);
            }
        });
        let checkpoint = CheckpointJob { view: shared.table().view(), revision: shared.current(), done };
        self.submit(MaintenanceJob::Checkpoint(checkpoint));
    }

    /// Aborts the running job, and waits for it.
    pub(crate) fn end(&mut self) {
        self.state.cancelled.store(true, Ordering::Relaxed);
        if let Executor::Thread(sender, thread) = &mut self.executor {
            drop(sender.take());
            if let Some(thread) = thread.take() {
                let _ = thread.join();
            }
        }
    }

    fn submit(&mut self, job: MaintenanceJob) {
        match &mut self.executor {
            Executor::Inline(worker) => worker.run(job),
            Executor::Thread(sender, _) => {
                // Never blocks: commits do not wait for maintenance.
                if let Some(Err(refused)) = sender.as_ref().map(|sender| sender.try_send(job)) {
                    let (std::sync::mpsc::TrySendError::Full(job)
                    | std::sync::mpsc::TrySendError::Disconnected(job)) = refused;
                    if let MaintenanceJob::Checkpoint(checkpoint) = job {
                        (checkpoint.done)(Err(io::Error::other("worker is busy")));
                    }
                }
            }
        }
    }
}

impl Drop for MaintenanceScheduler {
    /// Stops the worker: another process may take over the directory next.
    fn drop(&mut self) {
        self.end();
    }
}
