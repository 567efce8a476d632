//! The writer thread: commits all waiting transactions with one sync, then publishes and
//! acknowledges them.

use std::io;
use std::sync::Arc;

use machinery_objects::Revision;
use tokio::sync::oneshot;
use tokio::time::Instant;

use super::batch_queue::BatchQueue;
use super::frame::FRAME;
use super::log::{Log, SpaceError, lacks_descriptors};
use super::ownership::Ownership;
use super::record::{COMPACTION_BYTES, transaction_bytes, write_compaction, write_transaction};
use super::scheduler::MaintenanceScheduler;
use crate::contract::{Commit, CommitError, CompactError, Transaction};
use crate::core::{Core, RetentionTracker, RevisionChanges, View};
use crate::files::Files;
use crate::shared::Shared;

/// A request to the writer.
pub(crate) enum Request {
    Commit(Transaction, Instant, oneshot::Sender<Answer>),
    Compact(Revision, oneshot::Sender<Result<(), CompactError>>),
    /// A snapshot at the newest revision.
    View(oneshot::Sender<(View, Revision)>),
    Checkpoint(oneshot::Sender<io::Result<()>>),
    Close(oneshot::Sender<io::Result<()>>),
}

/// Maximum bytes of a batch, except for a single larger transaction.
const BATCH_BYTES: usize = 4 * 1024 * 1024;

pub(crate) struct Writer {
    pub(crate) core: Core,
    pub(crate) shared: Arc<Shared>,
    pub(crate) retaining: RetentionTracker,
    pub(crate) files: Arc<dyn Files>,
    pub(crate) ownership: Arc<Ownership>,
    pub(crate) log: Log,
    pub(crate) maintenance: MaintenanceScheduler,
    /// The failed write, after which nothing more is written: the state of the disk after the last
    /// acknowledged batch is unknown.
    pub(crate) poisoned: Option<Arc<str>>,
    /// Bytes that could not be reserved on a full disk; zero if the last reservation succeeded.
    pub(crate) shortfall: usize,
    pub(crate) queue: BatchQueue<Request>,
    /// The encoded batch; a reused buffer.
    pub(crate) frame: Vec<u8>,
}

type Answer = Result<Commit, CommitError>;

/// A batch being written.
#[derive(Default)]
struct Batch {
    /// The revision before the batch.
    before: Revision,
    compacted: Revision,
    /// The I/O error of a failed reservation.
    failed: Option<io::Error>,
    revised: Vec<RevisionChanges>,
    compact: Option<Revision>,
    commits: Vec<(Answer, oneshot::Sender<Answer>)>,
    compactions: Vec<oneshot::Sender<Result<(), CompactError>>>,
}

impl Writer {
    /// Runs until all senders are gone or the store is closed.
    pub(crate) fn run(mut self) {
        let mut closing = Vec::new();
        while self.queue.begin() {
            self.batch(&mut closing);
            if !closing.is_empty() {
                // Requests sent before this one are still answered.
                self.queue.close();
            }
        }
        let ended = self.end();
        for reply in closing {
            let answer =
                ended.as_ref().copied().map_err(|error| io::Error::new(error.kind(), error.to_string()));
            let _ = reply.send(answer);
        }
    }

    fn end(&mut self) -> io::Result<()> {
        self.shared.close(&Arc::from("the store was closed"));
        self.maintenance.end();
        self.check_ownership();
        if let Some(why) = &self.poisoned {
            return Err(io::Error::other(why.to_string()));
        }
        self.log.seal(self.core.head())?;
        self.log.sync()
    }

    /// Takes requests until the batch is full, and commits them.
    fn batch(&mut self, closing: &mut Vec<oneshot::Sender<io::Result<()>>>) {
        self.check_ownership();
        let (before, compacted) = (self.core.head(), self.shared.compacted());
        let mut batch = Batch { before, compacted, ..Batch::default() };
        self.frame.clear();
        self.frame.resize(FRAME, 0);
        let mut after = Vec::new();
        let mut now = None;
        while let Some(request) = self.queue.next() {
            match request {
                Request::Commit(transaction, at, reply) => {
                    // A probe is no use of the store, and an idle store keeps its history.
                    if !transaction.operations.is_empty() {
                        now = now.max(Some(at));
                    }
                    let done = self.apply(transaction, &mut batch);
                    batch.commits.push((done, reply));
                }
                Request::Compact(to, reply) => match self.may_compact(to) {
                    Ok(()) => {
                        batch.compact = batch.compact.max(Some(to));
                        batch.compactions.push(reply);
                    }
                    Err(error) => drop(reply.send(Err(error))),
                },
                Request::Close(reply) => closing.push(reply),
                other => after.push(other),
            }
            if self.frame.len() >= BATCH_BYTES {
                break;
            }
        }
        if let (Some(now), None) = (now, &self.poisoned) {
            let by_bytes = self.shared.oldest_with(self.retaining.excess(self.core.history_bytes()));
            let by_policy = self.retaining.step(now, self.core.head(), compacted);
            batch.compact = batch.compact.max(by_policy).max(by_bytes);
        }
        self.finish(batch);
        for request in after {
            self.serve(request);
        }
    }

    /// Ends writes if the directory belongs to somebody else, before anything is applied.
    fn check_ownership(&mut self) {
        if self.poisoned.is_none()
            && let Err(why) = self.ownership.check_with(self.log.segment())
        {
            self.end_writes(&why);
        }
    }

    fn apply(&mut self, transaction: Transaction, batch: &mut Batch) -> Result<Commit, CommitError> {
        if let Some(why) = &self.poisoned {
            return Err(CommitError::Refused { why: Arc::clone(why) });
        }
        // An applied transaction cannot be undone, so reserve space first.
        self.reserve(transaction_bytes(&transaction.operations), batch)
            .map_err(|why| CommitError::Refused { why })?;
        let applied = self.core.apply(transaction)?;
        if let Some(revised) = applied.revised {
            write_transaction(&mut self.frame, &revised);
            batch.revised.push(revised);
        }
        Ok(applied.commit)
    }

    /// Reserves space for `bytes` more of the batch, and for a compaction. While the disk is full,
    /// it reserves at least as much as last failed, so that refusals do not depend on each
    /// transaction's size.
    fn reserve(&mut self, bytes: usize, batch: &mut Batch) -> Result<(), Arc<str>> {
        if let Some(failed) = &batch.failed {
            return Err(failed.to_string().into());
        }
        let bytes = bytes.max(self.shortfall);
        let number = self.log.number();
        let made =
            self.log.reserve(self.frame.len() + bytes + COMPACTION_BYTES, batch.before, batch.compacted);
        if self.log.number() != number {
            self.maintenance.rotated(number);
        }
        match made {
            Ok(()) if self.shortfall > 0 => {
                self.shortfall = 0;
                self.maintenance.note_full(None);
                Ok(())
            }
            Ok(()) => Ok(()),
            Err(SpaceError::Full(error)) => {
                // At least one, since zero means that the disk has space.
                self.shortfall = bytes.max(1);
                let path = self.files.path("");
                let why: Arc<str> = match lacks_descriptors(&error) {
                    true => format!(
                        "there is no file descriptor for the next segment at {} ({error}); close others, and writes go \
                         on",
                        path.display()
                    ),
                    false => format!(
                        "there is no room at {} ({error}); free some there, and writes go on",
                        path.display()
                    ),
                }
                .into();
                self.maintenance.note_full(Some(Arc::clone(&why)));
                Err(why)
            }
            Err(SpaceError::Failed(error)) => {
                let why = error.to_string().into();
                batch.failed = Some(error);
                Err(why)
            }
        }
    }

    fn may_compact(&self, to: Revision) -> Result<(), CompactError> {
        match &self.poisoned {
            Some(why) => Err(CompactError::Refused { why: Arc::clone(why) }),
            None if to > self.core.head() => {
                Err(CompactError::Future { requested: to, current: self.core.head() })
            }
            None => Ok(()),
        }
    }

    /// Makes the batch durable, then publishes it, then replies. Conflicts wait too: they may
    /// depend on commits of this batch.
    fn finish(&mut self, mut batch: Batch) {
        let compacted = batch.compacted;
        batch.compact = batch.compact.filter(|to| *to > compacted);
        if let Some(to) = batch.compact {
            match self.reserve(0, &mut batch) {
                Ok(()) => write_compaction(&mut self.frame, to),
                Err(why) if batch.failed.is_none() => {
                    batch.compact = None;
                    for reply in batch.compactions.drain(..) {
                        let _ = reply.send(Err(CompactError::Refused { why: Arc::clone(&why) }));
                    }
                }
                // `batch.failed` is set, and poisons the writer below.
                Err(_) => {}
            }
        }
        if let Some(error) = batch.failed.take() {
            return self.poison(batch, &error);
        }
        if self.frame.len() > FRAME
            && let Err(error) = self.write(batch.commits.len(), batch.before)
        {
            return self.poison(batch, &error);
        }
        // After the write and before the answer: an acknowledged batch was in the log while this
        // store had the lock, so any later owner has read it.
        if self.frame.len() > FRAME
            && let Err(why) = self.ownership.check_with(self.log.segment())
        {
            return self.give_up(batch, &why);
        }
        let wakes = self.shared.publish(batch.revised.drain(..));
        if let Some(to) = batch.compact {
            // After the publication, since `to` may be a revision of this batch.
            self.shared.compact_in_steps(to, |gone| self.core.forget(gone));
        }
        self.shared.note_used(self.core.used());
        for (done, reply) in batch.commits {
            let _ = reply.send(done);
        }
        for reply in batch.compactions {
            let _ = reply.send(Ok(()));
        }
        wakes.wake();
        self.maintenance.checkpoint_if_due(&self.core, &self.shared);
    }

    fn write(&mut self, transactions: usize, before: Revision) -> io::Result<()> {
        let begun = Instant::now();
        // No second sync after a failed one: the kernel may consider the lost pages clean.
        self.log.append(&mut self.frame, before)?;
        self.queue.synced(transactions, begun.elapsed());
        self.maintenance.wrote(self.frame.len() as u64);
        if self.log.wants_spare() {
            self.maintenance.request_spare();
        }
        if self.queue.is_empty() {
            // The seal only helps to distinguish damage from a torn end. If writing it fails, so
            // will the next batch.
            let _ = self.log.seal(self.core.head());
        }
        Ok(())
    }

    fn poison(&mut self, batch: Batch, error: &io::Error) {
        let path = self.files.path("");
        let why: Arc<str> = format!(
            "writing to {} failed ({error}), and what it holds of the last transactions is not known; all that was \
             acknowledged is safe. Close the store, mend the disk, and open it again",
            path.display()
        )
        .into();
        self.give_up(batch, &why);
    }

    /// Accepts no more writes.
    fn end_writes(&mut self, why: &Arc<str>) {
        self.poisoned = Some(Arc::clone(why));
        self.maintenance.note_poison(why);
    }

    /// Ends writes after a batch was applied. There is no rollback: opening again is the only way
    /// to recover.
    fn give_up(&mut self, batch: Batch, why: &Arc<str>) {
        self.end_writes(why);
        for (done, reply) in batch.commits {
            let _ = reply.send(Err(match done {
                // Its frame may be on the disk, whole or in part.
                Ok(commit) if commit.changed => CommitError::Unknown { why: Arc::clone(why) },
                _ => CommitError::Refused { why: Arc::clone(why) },
            }));
        }
        for reply in batch.compactions {
            let _ = reply.send(Err(CompactError::Unknown { why: Arc::clone(why) }));
        }
    }

    /// Answers requests that need every applied commit to be published.
    fn serve(&mut self, request: Request) {
        match request {
            Request::View(reply) => drop(reply.send((self.shared.table().view(), self.shared.current()))),
            Request::Checkpoint(reply) => match &self.poisoned {
                Some(why) => drop(reply.send(Err(io::Error::other(why.to_string())))),
                None => self.maintenance.checkpoint(&self.shared, Some(reply)),
            },
            Request::Commit(..) | Request::Compact(..) | Request::Close(..) => {
                unreachable!("they are part of the batch")
            }
        }
    }
}
