//! Decides when a checkpoint is due, and hands jobs to worker: in a thread of its own, or here and now.

use std::io;
use std::sync::Arc;
use std::sync::mpsc::{SyncSender, sync_channel};
use std::thread::JoinHandle;
use std::time::Duration;

use machinery_sync::Mutex;
use machinery_sync::atomic::{AtomicBool, Ordering};
use tokio::sync::oneshot;

use super::maintenance::{CheckpointJob, Maintenance, MaintenanceJob};
use crate::core::Core;
use crate::shared::Shared;

/// Jobs that may wait. One that finds no place is not done, which costs time or room and nothing else.
const JOB_CAPACITY: usize = 64;

pub(crate) struct MaintenanceScheduler {
    executor: Executor,
    state: Arc<State>,
    /// Bytes of log since the last checkpoint was begun.
    log_bytes: u64,
    checkpoint_bytes: u64,
    /// Whether a spare was asked for since the last log was full.
    has_spare: bool,
}

enum Executor {
    Thread(Option<SyncSender<MaintenanceJob>>, Option<JoinHandle<()>>),
    Inline(Box<Maintenance>),
}

/// What the one who keeps and the one who asks both see.
#[derive(Default)]
pub(crate) struct State {
    status: Mutex<MaintenanceStatus>,
    /// Ends what is being made.
    cancelled: AtomicBool,
    /// How long worker rests after each gulp.
    pause: Duration,
}

#[derive(Default)]
struct MaintenanceStatus {
    running: bool,
    /// Why nothing is written any more.
    poison: Option<Arc<str>>,
    /// Why nothing can be written at the moment.
    full: Option<Arc<str>>,
    /// Why the last checkpoint failed.
    failure: Option<Arc<str>>,
}

/// Rest of a thread of worker: about as long as a gulp takes.
const PAUSE: Duration = Duration::from_millis(2);

impl State {
    pub(crate) fn new(background: bool) -> Arc<Self> {
        Arc::new(Self { pause: if background { PAUSE } else { Duration::ZERO }, ..Self::default() })
    }

    /// What goes wrong and needs somebody to look, if anything does.
    pub(crate) fn trouble(&self) -> Option<Arc<str>> {
        let status = self.status.lock();
        status.poison.clone().or_else(|| status.full.clone()).or_else(|| status.failure.clone())
    }

    pub(crate) fn note_poison(&self, why: &Arc<str>) {
        self.status.lock().poison = Some(Arc::clone(why));
    }

    /// Lets others at the disk, unless it is time to end.
    pub(crate) fn throttle(&self) -> io::Result<()> {
        std::thread::park_timeout(self.pause);
        if self.cancelled.load(Ordering::Relaxed) {
            return Err(io::Error::new(io::ErrorKind::Interrupted, "the store was closed meanwhile"));
        }
        Ok(())
    }
}

impl MaintenanceScheduler {
    /// `log_bytes` are there after the newest checkpoint.
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

    /// Nothing is written any more.
    pub(crate) fn note_poison(&self, why: &Arc<str>) {
        self.state.note_poison(why);
    }

    /// There is no room for what comes, or there is again.
    pub(crate) fn note_full(&self, why: Option<Arc<str>>) {
        self.state.status.lock().full = why;
    }

    pub(crate) fn wrote(&mut self, bytes: u64) {
        self.log_bytes += bytes;
    }

    /// A log has its full length.
    pub(crate) fn rotated(&mut self, number: u64) {
        self.has_spare = false;
        self.submit(MaintenanceJob::Rotated(number));
    }

    /// The next segment should be made.
    pub(crate) fn request_spare(&mut self) {
        if !self.has_spare {
            self.has_spare = true;
            self.submit(MaintenanceJob::Spare);
        }
    }

    /// Begins a checkpoint if it is time. It writes all that is held: more than the log, and the disk would work for checkpoints
    /// mostly.
    pub(crate) fn checkpoint_if_due(&mut self, core: &Core, shared: &Arc<Shared>) {
        let is_due = self.log_bytes > self.checkpoint_bytes.max(core.used());
        if is_due && !self.state.status.lock().running && core.head() == shared.current() {
            self.checkpoint(shared, None);
        }
    }

    /// Makes a checkpoint of what is published, which is all that is in the table.
    pub(crate) fn checkpoint(
        &mut self,
        shared: &Arc<Shared>,
        reply: Option<oneshot::Sender<io::Result<()>>>,
    ) {
        self.log_bytes = 0;
        self.state.status.lock().running = true;
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

    /// Ends what is being done, and waits for it.
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
    /// Maintenance must not go on with a directory that may be somebody else's by now.
    fn drop(&mut self) {
        self.end();
    }
}
