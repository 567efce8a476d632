//! The [`Disk`] handle.

use std::io;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::path::Path;
use std::sync::Arc;
use std::thread::JoinHandle;

use async_trait::async_trait;
use machinery_objects::Revision;
use machinery_sync::Mutex;
use tokio::sync::{mpsc, oneshot};
use tokio::time::Instant;
use tokio_util::sync::CancellationToken;

use super::batch_queue::BatchQueue;
use super::error::OpenError;
use super::file_name::LOCK;
use super::format::FORMAT;
use super::log::Log;
use super::maintenance::Maintenance;
use super::options::DiskOptions;
use super::ownership::Ownership;
use super::recover::{Recovered, check_log_unlocked, inspect, recover};
use super::scheduler::{MaintenanceScheduler, State};
use super::upgrade::upgrade;
use super::writer::{Request, Writer};
use crate::contract::{
    Backend, Commit, CommitError, CompactError, KeySpan, Limits, Page, Range, ReadError, Transaction, Watch,
    WatchError,
};
use crate::core::{RetentionTracker, View, check};
use crate::files::{Directory, Files, HeldLock};
use crate::options::Usage;
use crate::shared::Shared;

/// A [`Backend`] in a directory, open in one process at a time. Acknowledged commits survive the
/// process and power cuts.
///
/// One thread writes, another makes checkpoints. [`close`](Self::close) stops both, as does
/// dropping the last clone, which waits for transactions in progress.
#[derive(Clone)]
pub struct Disk(Arc<Inner>);

struct Inner {
    shared: Arc<Shared>,
    limits: Limits,
    state: Arc<State>,
    /// `None` while dropping, which stops the writer.
    requests: Option<mpsc::Sender<Request>>,
    thread: Mutex<Option<JoinHandle<()>>>,
    /// Cancelled once the writer has stopped and the directory is unlocked.
    ended: CancellationToken,
}

impl Disk {
    /// Opens the store in the directory at `path`, creating it if needed. Blocks until all data is
    /// read.
    pub fn open(path: impl AsRef<Path>, options: DiskOptions) -> Result<Self, OpenError> {
        let path = path.as_ref();
        let directory = Directory::make(path).map_err(|error| match error.kind() {
            io::ErrorKind::AlreadyExists => {
                OpenError::NotAStore { path: path.into(), what: "it is no directory".into() }
            }
            _ => OpenError::of("making", path, error),
        })?;
        Self::open_on(Arc::new(directory), options)
    }

    /// Opens the store in `files`.
    pub fn open_on(files: Arc<dyn Files>, mut options: DiskOptions) -> Result<Self, OpenError> {
        options.store.limits = options.store.limits.clamped_to_format();
        // Before locking, which creates a file: a directory of something else stays unchanged.
        inspect(&*files)?;
        let lock = files.lock().map_err(|error| OpenError::of("locking", files.path(LOCK), error))?;
        let lock = lock.ok_or_else(|| OpenError::InUse { path: files.path("") })?;
        // The lock file may have been removed under another process.
        check_log_unlocked(&*files)?;
        let recover = || recover(&*files, &options.store);
        let mut recovered = recover()?;
        if recovered.format < FORMAT {
            upgrade(&*files, recovered)?;
            recovered = recover()?;
        }
        Self::start(files, recovered, lock, options)
    }

    fn start(
        files: Arc<dyn Files>,
        recovered: Recovered,
        lock: Box<dyn HeldLock>,
        options: DiskOptions,
    ) -> Result<Self, OpenError> {
        let failed = {
            let files = Arc::clone(&files);
            move |error| OpenError::of("starting on", files.path(""), error)
        };
        let DiskOptions { store, segment_bytes, checkpoint_bytes, background } = options;
        let Recovered { table, core, history, segment, others, log_bytes, .. } = recovered;
        let shared = Shared::new(table, history, core.used(), store.limits, store.seed);
        let state = State::new(background);
        let ownership = Arc::new(Ownership::new(Arc::clone(&files), lock));
        let worker = Maintenance::new(
            Arc::clone(&files),
            Arc::clone(&ownership),
            Arc::clone(&shared),
            segment_bytes,
            others,
            Arc::clone(&state),
        );
        let log = Log::new(Arc::clone(&files), Arc::clone(&worker.spares), segment, segment_bytes);
        let maintenance =
            MaintenanceScheduler::new(worker, background, checkpoint_bytes, log_bytes).map_err(&failed)?;
        let (requests, receiver) = mpsc::channel(store.limits.waiting_commits.max(1));
        let writer = Writer {
            core,
            shared: Arc::clone(&shared),
            retaining: RetentionTracker::new(store.retention),
            files,
            ownership: Arc::clone(&ownership),
            log,
            maintenance,
            poisoned: None,
            shortfall: 0,
            queue: BatchQueue::new(receiver),
            frame: Vec::new(),
        };
        let ended = CancellationToken::new();
        let run = {
            let (shared, state, ended) =
                (Arc::clone(&shared), Arc::clone(&state), ended.clone().drop_guard());
            move || {
                if catch_unwind(AssertUnwindSafe(|| writer.run())).is_err() {
                    let why =
                        "the store's writer panicked; what it acknowledged is safe: open the store again"
                            .into();
                    shared.close(&why);
                    state.note_poison(&why);
                }
                // The writer's state is dropped by now, and maintenance has stopped.
                drop(ownership);
                drop(ended);
            }
        };
        // A thread, not a task: `fdatasync` blocks. One is enough: a batch needs only one sync.
        let thread =
            std::thread::Builder::new().name("machinery-store".into()).spawn(run).map_err(&failed)?;
        Ok(Self(Arc::new(Inner {
            shared,
            limits: store.limits,
            state,
            requests: Some(requests),
            thread: Mutex::new(Some(thread)),
            ended,
        })))
    }

    /// Commits all queued transactions durably, ends the watches, and unlocks the directory. Clones
    /// of the handle then refuse every call.
    ///
    /// An error means that the end of the log could not be marked; no commit is lost.
    pub async fn close(&self) -> Result<(), CommitError> {
        let answer = self.ask(Request::Close).await;
        self.0.ended.cancelled().await;
        match answer {
            Some(Err(error)) => Err(CommitError::Refused { why: error.to_string().into() }),
            _ => Ok(()),
        }
    }

    /// Writes a checkpoint now, so that the next open has no log to replay. Waits for a checkpoint
    /// that is already running.
    pub async fn checkpoint(&self) -> Result<(), CommitError> {
        match self.ask(Request::Checkpoint).await {
            Some(Ok(())) => Ok(()),
            Some(Err(error)) => Err(CommitError::Refused { why: error.to_string().into() }),
            None => Err(closed()),
        }
    }

    /// Returns the size of the store.
    #[must_use]
    pub fn usage(&self) -> Usage {
        self.0.shared.usage()
    }

    /// Returns the reason if the store refuses writes or fails to make checkpoints. On a full disk,
    /// any commit, even of an empty transaction, checks again whether there is space.
    #[must_use]
    pub fn trouble(&self) -> Option<Arc<str>> {
        self.0.state.trouble()
    }

    /// Returns a snapshot of the table and its revision.
    pub(super) async fn view(&self) -> Option<(View, Revision)> {
        self.ask(Request::View).await
    }

    pub(super) fn shared(&self) -> &Arc<Shared> {
        &self.0.shared
    }

    async fn ask<T>(&self, request: impl FnOnce(oneshot::Sender<T>) -> Request) -> Option<T> {
        let (reply, answer) = oneshot::channel();
        self.0.requests.as_ref()?.send(request(reply)).await.ok()?;
        answer.await.ok()
    }
}

fn closed() -> CommitError {
    CommitError::Refused { why: "the store was closed; open it again".into() }
}

#[async_trait]
impl Backend for Disk {
    async fn revision(&self) -> Result<Revision, ReadError> {
        self.0.shared.revision()
    }

    async fn range(&self, range: Range) -> Result<Page, ReadError> {
        self.0.shared.range(range).await
    }

    async fn commit(&self, transaction: Transaction) -> Result<Commit, CommitError> {
        check(&transaction, &self.0.limits)?;
        let (reply, answer) = oneshot::channel();
        let request = Request::Commit(transaction, Instant::now(), reply);
        let requests = self.0.requests.as_ref().ok_or_else(closed)?;
        requests.send(request).await.map_err(|_| closed())?;
        // The writer had the request, so its batch may be on the disk.
        let lost = || CommitError::Unknown { why: "the store's writer ended".into() };
        answer.await.unwrap_or_else(|_| Err(lost()))
    }

    async fn watch(&self, span: KeySpan, after: Revision) -> Result<Watch, WatchError> {
        self.0.shared.watch(span, after)
    }

    async fn compact(&self, to: Revision) -> Result<(), CompactError> {
        let why = || "the store was closed; open it again".into();
        self.ask(|reply| Request::Compact(to, reply))
            .await
            .unwrap_or_else(|| Err(CompactError::Refused { why: why() }))
    }
}

impl Drop for Inner {
    fn drop(&mut self) {
        drop(self.requests.take());
        if let Some(thread) = self.thread.lock().take() {
            let _ = thread.join();
        }
    }
}

impl std::fmt::Debug for Disk {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Disk").field("revision", &self.0.shared.current()).finish_non_exhaustive()
    }
}
