//! Splits a log into frames and finds its end. `replay` interprets them.

use std::io;
use std::ops::Range;

use machinery_objects::Revision;

use super::file_name::FileName;
use super::format::{HEADER, Header};
use super::frame::{self, FRAME, FrameHead, FrameKind};
use super::log::is_full;
use super::pipeline::Emit;
use super::record::{LogRecord, Reader};
use super::window::FileWindow;
use crate::contract::Operation;
use crate::files::{File, Files};

/// An element of the pipeline: frames of a log, or its end.
pub(crate) enum LogPart<F> {
    Frames(F),
    /// The end of this log.
    End(LogTail),
    Failed(io::Error),
}

/// Frames, and the payloads that they refer to.
#[derive(Default)]
pub(crate) struct RawFrames {
    frames: Vec<Frame<Range<usize>>>,
    payloads: Vec<u8>,
}

/// Decoded frames.
#[derive(Default)]
pub(crate) struct DecodedFrames {
    pub(crate) frames: Vec<Frame<BatchRecords>>,
    /// Operations of all records, in order. One vector, since freeing memory of another thread is
    /// slow.
    pub(crate) operations: Vec<Operation>,
}

/// The records of a batch, or the reason why they are invalid.
pub(crate) type BatchRecords = Result<Vec<LogRecord>, &'static str>;

/// A frame with a valid header. Only a valid batch is followed by another frame.
pub(crate) struct Frame<B> {
    /// The offset.
    pub(crate) at: u64,
    /// The previous revision, by its header.
    pub(crate) revision: Revision,
    pub(crate) content: FrameContent<B>,
}

pub(crate) enum FrameContent<B> {
    Batch(B),
    /// The end of the log.
    Seal,
    /// The end of this file; the log continues in the next.
    Turn,
    /// A payload with a wrong checksum.
    Torn,
    /// An impossible frame.
    Wrong(&'static str),
}

/// The end of a log.
pub(crate) struct LogTail {
    pub(crate) file: Box<dyn File>,
    pub(crate) size: u64,
    /// The offset of the last valid batch, or the end of the header.
    pub(crate) last: u64,
    pub(crate) end: u64,
    /// The bytes of the last batch.
    pub(crate) batch: Vec<u8>,
    /// Whether a frame follows the first invalid one.
    pub(crate) is_followed: bool,
}

/// A batch whose link does not match.
const TWO_WRITERS: &str =
    "a batch does not follow the one before it: two processes wrote to this log at the same time";

/// Bytes of frames per part.
const PART: u64 = 64 * 1024;

/// Reads `logs`, one after the other.
pub(crate) fn scan(files: &dyn Files, logs: &[Header], emit: &Emit<'_, LogPart<RawFrames>>) {
    for header in logs {
        let wanted = match log(files, header, emit) {
            Ok(Some(tail)) => emit(LogPart::End(tail)),
            Ok(None) => false,
            Err(error) => {
                emit(LogPart::Failed(error));
                false
            }
        };
        if !wanted {
            return;
        }
    }
}

fn log(
    files: &dyn Files,
    header: &Header,
    emit: &Emit<'_, LogPart<RawFrames>>,
) -> io::Result<Option<LogTail>> {
    let (salt, file) = (header.salt, files.open(&FileName::Log(header.number).to_string())?);
    let mut window = FileWindow::new(&*file)?;
    let start = HEADER as u64;
    let (mut last, mut at, mut given) = (start, start, start);
    let (mut part, mut link) = (RawFrames::default(), 0);
    let is_torn = loop {
        let Some(head) = FrameHead::read(window.get(at..at + FRAME as u64)?, salt) else { break true };
        let content = match (head.kind, head.follow(link)) {
            (FrameKind::Batch, None) => FrameContent::Wrong(TWO_WRITERS),
            (_, next) => {
                link = next.unwrap_or(link);
                content(&head, at, &mut window, salt, &mut part.payloads)?
            }
        };
        let (is_whole, is_torn) =
            (matches!(content, FrameContent::Batch(_)), matches!(content, FrameContent::Torn));
        part.frames.push(Frame { at, revision: head.revision, content });
        if !is_whole {
            break is_torn;
        }
        (last, at) = (at, at + head.size() as u64);
        if at - given >= PART {
            given = at;
            if !emit(LogPart::Frames(std::mem::take(&mut part))) {
                return Ok(None);
            }
        }
    };
    if !emit(LogPart::Frames(part)) {
        return Ok(None);
    }
    // A batch is written once the one before is durable: a frame behind proves damage.
    let is_followed = is_torn && has_frame(&mut window, at + 8, salt)?;
    let batch = window.get(last..at)?.to_vec();
    if last < at && FrameHead::read(&batch, salt).and_then(|head| head.payload(&batch, salt)).is_none() {
        return Err(io::Error::other("it has changed since it was read")); // it would be written so
    }
    Ok(Some(LogTail { size: window.size(), file, last, end: at, batch, is_followed }))
}

fn content(
    head: &FrameHead,
    at: u64,
    window: &mut FileWindow<'_>,
    salt: u64,
    payloads: &mut Vec<u8>,
) -> io::Result<FrameContent<Range<usize>>> {
    match head.kind {
        FrameKind::Seal => return Ok(FrameContent::Seal),
        FrameKind::Turn => return Ok(FrameContent::Turn),
        FrameKind::Batch => {}
    }
    let end = at + head.size() as u64;
    if end > window.size() {
        return Ok(FrameContent::Wrong("the file was cut in a batch"));
    }
    let Some(payload) = head.payload(window.get(at..end)?, salt) else { return Ok(FrameContent::Torn) };
    payloads.extend_from_slice(payload);
    Ok(FrameContent::Batch(payloads.len() - payload.len()..payloads.len()))
}

/// Returns whether any frame header follows `from`.
fn has_frame(window: &mut FileWindow<'_>, mut from: u64, salt: u64) -> io::Result<bool> {
    while from + FRAME as u64 <= window.size() {
        let bytes = window.get(from..from + PART)?;
        if frame::is_in(bytes, salt) {
            return Ok(true);
        }
        from += PART - FRAME as u64; // one may begin in the last bytes
    }
    Ok(false)
}

impl LogPart<RawFrames> {
    /// Decodes the records.
    pub(crate) fn decode(self) -> LogPart<DecodedFrames> {
        match self {
            Self::Frames(RawFrames { frames, payloads }) => {
                let mut operations = Vec::new();
                let frames = frames.into_iter().map(|frame| frame.decode(&payloads, &mut operations));
                LogPart::Frames(DecodedFrames { frames: frames.collect(), operations })
            }
            Self::End(tail) => LogPart::End(tail),
            Self::Failed(error) => LogPart::Failed(error),
        }
    }
}

impl Frame<Range<usize>> {
    fn decode(self, payloads: &[u8], operations: &mut Vec<Operation>) -> Frame<BatchRecords> {
        let content = match self.content {
            FrameContent::Batch(payload) => {
                let mut reader = Reader(&payloads[payload]);
                FrameContent::Batch(std::iter::from_fn(|| reader.record(operations)).collect())
            }
            FrameContent::Seal => FrameContent::Seal,
            FrameContent::Turn => FrameContent::Turn,
            FrameContent::Torn => FrameContent::Torn,
            FrameContent::Wrong(what) => FrameContent::Wrong(what),
        };
        Frame { at: self.at, revision: self.revision, content }
    }
}

impl LogTail {
    /// Makes the last batch durable before any read. It may be in the page cache only, and after a
    /// failed sync the system may take it for durable, so it is rewritten first.
    ///
    /// A file system that copies on writes may have no room for that. The batch is synced then, and
    /// must be rewritten before any other write: this returns true.
    pub(crate) fn make_durable(&self) -> io::Result<bool> {
        let mut owed = false;
        if self.batch.len() >= FRAME {
            owed = match self.file.write_at(&self.batch, self.last) {
                Err(error) if is_full(&error) => true,
                done => done.map(|()| false)?,
            };
        }
        self.file.sync().map(|()| owed)
    }
}
