//! Decides when a checkpoint is due, and hands jobs to upkeep: in a thread of its own, or here and now.

use std::io;
use std::sync::Arc;
use std::sync::mpsc::{SyncSender, sync_channel};
use std::thread::JoinHandle;
use std::time::Duration;

use machinery_sync::Mutex;
use machinery_sync::atomic::{AtomicBool, Ordering};
use tokio::sync::oneshot;

use super::upkeep::{Checkpoint, Job, Upkeep};
use crate::core::Core;
use crate::shared::Shared;

/// Jobs that may wait. One that finds no place is not done, which costs time or room and nothing else.
const JOBS: usize = 64;

pub(crate) struct Keeper {
    means: Means,
    state: Arc<State>,
    /// Bytes of log since the last checkpoint was begun.
    log_bytes: u64,
    checkpoint_bytes: u64,
    /// Whether a spare was asked for since the last log was full.
    has_spare: bool,
}

enum Means {
    Thread(Option<SyncSender<Job>>, Option<JoinHandle<()>>),
    Here(Box<Upkeep>),
}

/// What the one who keeps and the one who asks both see.
#[derive(Default)]
pub(crate) struct State {
    guarded: Mutex<Guarded>,
    /// Ends what is being made.
    cancelled: AtomicBool,
    /// How long upkeep rests after each gulp.
    rest: Duration,
}

#[derive(Default)]
struct Guarded {
    running: bool,
    /// Why nothing is written any more.
    poison: Option<Arc<str>>,
    /// Why nothing can be written at the moment.
    full: Option<Arc<str>>,
    /// Why the last checkpoint failed.
    failure: Option<Arc<str>>,
}

/// Rest of a thread of upkeep: about as long as a gulp takes.
const REST: Duration = Duration::from_millis(2);

impl State {
    pub(crate) fn new(background: bool) -> Arc<Self> {
        Arc::new(Self { rest: if background { REST } else { Duration::ZERO }, ..Self::default() })
    }

    /// What goes wrong and needs somebody to look, if anything does.
    pub(crate) fn trouble(&self) -> Option<Arc<str>> {
        let guarded = self.guarded.lock();
        guarded.poison.clone().or_else(|| guarded.full.clone()).or_else(|| guarded.failure.clone())
    }

    pub(crate) fn note_poison(&self, why: &Arc<str>) {
        self.guarded.lock().poison = Some(Arc::clone(why));
    }

    /// Lets others at the disk, unless it is time to end.
    pub(crate) fn breathe(&self) -> io::Result<()> {
        std::thread::park_timeout(self.rest);
        if self.cancelled.load(Ordering::Relaxed) {
            return Err(io::Error::new(io::ErrorKind::Interrupted, "the store was closed meanwhile"));
        }
        Ok(())
    }
}

impl Keeper {
    /// `log_bytes` are there after the newest checkpoint.
    pub(crate) fn new(
        mut upkeep: Upkeep,
        background: bool,
        checkpoint_bytes: u64,
        log_bytes: u64,
    ) -> io::Result<Self> {
        let state = Arc::clone(&upkeep.state);
        let means = if background {
            let (sender, jobs) = sync_channel(JOBS);
            let thread = std::thread::Builder::new()
                .name("machinery-store-upkeep".into())
                .spawn(move || jobs.into_iter().for_each(|job| upkeep.run(job)))?;
            Means::Thread(Some(sender), Some(thread))
        } else {
            Means::Here(Box::new(upkeep))
        };
        Ok(Self { means, state, log_bytes, checkpoint_bytes, has_spare: false })
    }

    /// Nothing is written any more.
    pub(crate) fn note_poison(&self, why: &Arc<str>) {
        self.state.note_poison(why);
    }

    /// There is no room for what comes, or there is again.
    pub(crate) fn note_full(&self, why: Option<Arc<str>>) {
        self.state.guarded.lock().full = why;
    }

    pub(crate) fn wrote(&mut self, bytes: u64) {
        self.log_bytes += bytes;
    }

    /// A log has its full length.
    pub(crate) fn rotated(&mut self, number: u64) {
        self.has_spare = false;
        self.give(Job::Rotated(number));
    }

    /// The next segment should be made.
    pub(crate) fn want_spare(&mut self) {
        if !self.has_spare {
            self.has_spare = true;
            self.give(Job::Spare);
        }
    }

    /// Begins a checkpoint if it is time. It writes all that is held: more than the log, and the disk would work for checkpoints
    /// mostly.
    pub(crate) fn look(&mut self, core: &Core, shared: &Arc<Shared>) {
        let is_due = self.log_bytes > self.checkpoint_bytes.max(core.used());
        if is_due && !self.state.guarded.lock().running && core.head() == shared.current() {
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
        self.state.guarded.lock().running = true;
        let state = Arc::clone(&self.state);
        let done = Box::new(move |made: io::Result<()>| {
            let mut guarded = state.guarded.lock();
            guarded.running = false;
            let answer = match made {
                Ok(()) => {
                    guarded.failure = None;
                    Ok(())
                }
                Err(error) => {
                    guarded.failure = Some(format!("the last checkpoint failed: {error}").into());
                    Err(error)
                }
            };
            drop(guarded);
            if let Some(reply) = reply {
                let _ = reply.send(answer);
            }
        });
        let checkpoint = Checkpoint { view: shared.table().view(), revision: shared.current(), done };
        self.give(Job::Checkpoint(checkpoint));
    }

    /// Ends what is being done, and waits for it.
    pub(crate) fn end(&mut self) {
        self.state.cancelled.store(true, Ordering::Relaxed);
        if let Means::Thread(sender, thread) = &mut self.means {
            drop(sender.take());
            if let Some(thread) = thread.take() {
                let _ = thread.join();
            }
        }
    }

    fn give(&mut self, job: Job) {
        match &mut self.means {
            Means::Here(upkeep) => upkeep.run(job),
            Means::Thread(sender, _) => {
                if let Some(Err(refused)) = sender.as_ref().map(|sender| sender.try_send(job)) {
                    let (std::sync::mpsc::TrySendError::Full(job)
                    | std::sync::mpsc::TrySendError::Disconnected(job)) = refused;
                    if let Job::Checkpoint(checkpoint) = job {
                        (checkpoint.done)(Err(io::Error::other("upkeep is busy")));
                    }
                }
            }
        }
    }
}

impl Drop for Keeper {
    /// Upkeep must not go on with a directory that may be somebody else's by now.
    fn drop(&mut self) {
        self.end();
    }
}
