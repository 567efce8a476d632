//! Replays logs and verifies their consistency. No I/O, except that the last batch is made durable.

use std::sync::Arc;
use std::sync::mpsc::Receiver;
use std::vec::IntoIter;

use machinery_objects::Revision;

use super::error::OpenError;
use super::file_name::FileName;
use super::format::Header;
use super::frame::{self, FRAME};
use super::load::LoadedCheckpoint;
use super::log::Segment;
use super::record::LogRecord;
use super::scan::{BatchRecords, DecodedFrames, Frame, FrameContent, LogPart, LogTail};
use crate::contract::Operation;
use crate::core::{ChangeHistory, Core, RetentionTracker, Table, TableLoader};
use crate::files::Files;
use crate::options::Options;

/// A store being rebuilt from a checkpoint and the logs after it.
pub(crate) struct LogReplay<'t> {
    core: Core<TableLoader<'t>>,
    history: ChangeHistory,
    retaining: RetentionTracker,
    /// The revision up to which the log is read; below that of the state while the log repeats
    /// commits of the checkpoint.
    reached: Revision,
    log_bytes: u64,
}

/// The decoded logs.
pub(crate) type LogParts = Receiver<LogPart<DecodedFrames>>;

/// The end of the batches of a log.
enum LogEnd {
    /// A seal.
    Sealed,
    /// A turn: the log continues in the next file.
    Turned,
    /// No valid frame follows the last batch.
    Torn,
}

impl<'t> LogReplay<'t> {
    /// Starts with a checkpoint, loaded into `table`.
    pub(crate) fn new(loaded: LoadedCheckpoint, table: &'t Table, options: &Options) -> Self {
        let LoadedCheckpoint { revision, newest, history, used, .. } = loaded;
        let live = newest.iter().map(|version| version.live_bytes()).sum();
        let core = Core::new(table.load().all(newest), revision, &options.limits);
        let core = core.with_history(history.compacted(), used, live);
        let retaining = RetentionTracker::new(options.retention);
        Self { core, history, retaining, reached: Revision::ZERO, log_bytes: 0 }
    }

    /// Returns the store, and the number of bytes of its logs.
    pub(crate) fn finish(self, table: Arc<Table>) -> (Core, ChangeHistory, u64) {
        (self.core.finish(table), self.history, self.log_bytes)
    }

    fn revision(&self) -> Revision {
        self.history.newest()
    }

    /// Replays `logs`, which the pipeline reads. Returns the last segment, open for appending.
    pub(crate) fn logs(
        &mut self,
        files: &dyn Files,
        logs: &[Header],
        parts: &LogParts,
    ) -> Result<Option<Segment>, OpenError> {
        let mut segment = None;
        for (place, header) in logs.iter().enumerate() {
            segment = Some(self.log(files, header, logs.get(place + 1), parts)?);
        }
        Ok(segment)
    }

    fn log(
        &mut self,
        files: &dyn Files,
        header: &Header,
        next: Option<&Header>,
        parts: &LogParts,
    ) -> Result<Segment, OpenError> {
        let path = || files.path(&FileName::Log(header.number).to_string());
        let damaged = |at, what| OpenError::damaged(path(), at, what);
        let failed = |error| OpenError::of("reading", path(), error);
        self.begin(header).map_err(|what| damaged(0, what))?;
        let mut end = LogEnd::Torn;
        let tail = loop {
            match parts.recv() {
                Ok(LogPart::Frames(DecodedFrames { frames, operations })) => {
                    let mut operations = operations.into_iter();
                    for Frame { at, revision, content } in frames {
                        let done = self.frame(revision, content, &mut operations);
                        end = done.map_err(|what| damaged(at, what))?;
                    }
                }
                Ok(LogPart::End(tail)) => break tail,
                Ok(LogPart::Failed(error)) => return Err(failed(error)),
                Err(_) => return Err(failed(std::io::Error::other("the reading thread has stopped"))),
            }
        };
        self.log_bytes += tail.end;
        self.end(&end, &tail, next).map_err(|what| damaged(tail.end, what))?;
        let mut owed = None;
        if next.is_none() {
            if !tail.file.lock().map_err(failed)? {
                return Err(OpenError::InUse { path: files.path("") });
            }
            owed = tail.make_durable().map_err(failed)?.then(|| (tail.last, tail.batch.clone()));
        }
        Ok(Segment {
            owed,
            link: frame::next_link(&tail.batch),
            number: header.number,
            salt: header.salt,
            file: tail.file,
            end: tail.end,
            size: tail.size,
        })
    }

    fn begin(&mut self, header: &Header) -> Result<(), &'static str> {
        self.reached = Revision(header.from);
        let compacted = Revision(header.count);
        if compacted > self.reached {
            return Err("more is compacted in it than had happened");
        }
        // The compaction's record may be in a log that is not read, at the revision of the
        // checkpoint.
        if compacted > self.history.compacted() {
            self.core.forget(self.history.compact(compacted));
        }
        Ok(())
    }

    /// Replays a frame. Returns how the log ends if this is the last frame.
    fn frame(
        &mut self,
        revision: Revision,
        content: FrameContent<BatchRecords>,
        operations: &mut IntoIter<Operation>,
    ) -> Result<LogEnd, &'static str> {
        if revision != self.reached {
            return Err("batches before this place are missing");
        }
        match content {
            FrameContent::Batch(records) => self.records(records?, operations).map(|()| LogEnd::Torn),
            FrameContent::Seal => Ok(LogEnd::Sealed),
            FrameContent::Turn => Ok(LogEnd::Turned),
            FrameContent::Torn => Ok(LogEnd::Torn),
            FrameContent::Wrong(what) => Err(what),
        }
    }

    fn records(
        &mut self,
        records: Vec<LogRecord>,
        operations: &mut IntoIter<Operation>,
    ) -> Result<(), &'static str> {
        for record in records {
            let repeats = self.reached < self.revision();
            match record {
                LogRecord::Transaction(count) => {
                    let operations = operations.take(count.into());
                    // Logs are removed whole, so the first one may begin before the checkpoint.
                    if repeats {
                        operations.for_each(drop);
                    } else {
                        let revised = self.core.replay(operations);
                        self.history.push(revised.ok_or("a transaction contradicts those before it")?);
                        self.relieve();
                    }
                    self.reached = self.reached.next();
                }
                LogRecord::Compaction(_) if repeats => {}
                LogRecord::Compaction(to) if to > self.reached => {
                    return Err("a compaction is ahead of its time");
                }
                LogRecord::Compaction(to) => self.core.forget(self.history.compact(to)),
            }
        }
        Ok(())
    }

    /// Compacts the history to its bound in bytes: the log may be that of a larger machine. The log
    /// need not say so, as the next opening does the same.
    fn relieve(&mut self) {
        let excess = self.retaining.excess(self.core.history_bytes());
        if excess > 0 {
            self.core.forget(self.history.compact(self.history.oldest_with(excess)));
        }
    }

    /// Verifies that a log may end this way, and that `next` follows it.
    fn end(&self, end: &LogEnd, tail: &LogTail, next: Option<&Header>) -> Result<(), &'static str> {
        match end {
            _ if tail.size < tail.end + FRAME as u64 => return Err("the file was cut"),
            LogEnd::Turned if next.is_none() => {
                return Err("the log goes on in another file, which is missing");
            }
            LogEnd::Torn if tail.is_followed => {
                return Err("a batch is not what was written, and later ones are there");
            }
            _ => {}
        }
        match next {
            Some(next) if !self.leads_to(next) => Err("batches at its end are not what was written"),
            // A checkpoint has only commits that were durable in the log before.
            None if self.reached < self.revision() => Err("it ends before its checkpoint"),
            _ => Ok(()),
        }
    }

    /// Returns whether `next` continues this log. More may be compacted than its header says, since
    /// a checkpoint includes compactions made while it was written.
    fn leads_to(&self, next: &Header) -> bool {
        let repeats = self.reached < self.revision();
        next.from == self.reached.0 && (repeats || next.count <= self.history.compacted().0)
    }
}
