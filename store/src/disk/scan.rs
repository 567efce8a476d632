//! Takes a log apart into its frames, and looks how it ends. What they mean together is for others to say.

use std::io;
use std::ops::Range;

use machinery_objects::Revision;

use super::ahead::Give;
use super::format::{HEADER, Header};
use super::frame::{self, FRAME, Head, Kind};
use super::names::Name;
use super::record::{Reader, Record};
use super::window::Window;
use crate::contract::Operation;
use crate::files::{File, Files};

/// A part of a log, or of the one after it.
pub(crate) enum Part<F> {
    Frames(F),
    /// Nothing more is read of this log.
    End(Tail),
    Failed(io::Error),
}

/// Frames, and the payloads that they point at.
#[derive(Default)]
pub(crate) struct Unread {
    frames: Vec<Frame<Range<usize>>>,
    payloads: Vec<u8>,
}

/// Frames, and what they say.
#[derive(Default)]
pub(crate) struct Read {
    pub(crate) frames: Vec<Frame<Records>>,
    /// Of all their records, in their order: in one list, because to drop in one thread what another one made is slow.
    pub(crate) operations: Vec<Operation>,
}

/// What a batch says, or why it says nothing.
pub(crate) type Records = Result<Vec<Record>, &'static str>;

/// A frame whose head is whole. Only a whole batch is followed by another one.
pub(crate) struct Frame<B> {
    /// Where it begins.
    pub(crate) at: u64,
    /// What its head says came before it.
    pub(crate) revision: Revision,
    pub(crate) content: Content<B>,
}

pub(crate) enum Content<B> {
    Batch(B),
    /// The end.
    Seal,
    /// The end of this file.
    Turn,
    /// A payload that is not what was written.
    Torn,
    /// What cannot be.
    Wrong(&'static str),
}

/// How a log ends.
pub(crate) struct Tail {
    pub(crate) file: Box<dyn File>,
    pub(crate) size: u64,
    /// Where its last whole batch begins and ends, or its header ends.
    pub(crate) last: u64,
    pub(crate) end: u64,
    /// The bytes of that batch.
    pub(crate) batch: Vec<u8>,
    /// Whether there is a frame behind what is no whole frame.
    pub(crate) is_followed: bool,
}

/// Frames are handed over when they have so many bytes.
const PART: u64 = 64 * 1024;

/// Reads these logs, one after the other.
pub(crate) fn scan(files: &dyn Files, logs: &[Header], give: &Give<'_, Part<Unread>>) {
    for header in logs {
        let wanted = match log(files, header, give) {
            Ok(Some(tail)) => give(Part::End(tail)),
            Ok(None) => false,
            Err(error) => {
                give(Part::Failed(error));
                false
            }
        };
        if !wanted {
            return;
        }
    }
}

fn log(files: &dyn Files, header: &Header, give: &Give<'_, Part<Unread>>) -> io::Result<Option<Tail>> {
    let (salt, file) = (header.salt, files.open(&Name::Log(header.number).to_string())?);
    let mut window = Window::new(&*file)?;
    let start = HEADER as u64;
    let (mut last, mut at, mut given) = (start, start, start);
    let mut part = Unread::default();
    let is_torn = loop {
        let Some(head) = Head::read(window.get(at..at + FRAME as u64)?, salt) else { break true };
        let content = content(&head, at, &mut window, salt, &mut part.payloads)?;
        let (is_whole, is_torn) = (matches!(content, Content::Batch(_)), matches!(content, Content::Torn));
        part.frames.push(Frame { at, revision: head.revision, content });
        if !is_whole {
            break is_torn;
        }
        (last, at) = (at, at + head.size() as u64);
        if at - given >= PART {
            given = at;
            if !give(Part::Frames(std::mem::take(&mut part))) {
                return Ok(None);
            }
        }
    };
    if !give(Part::Frames(part)) {
        return Ok(None);
    }
    let is_followed = is_torn && has_frame(&mut window, at + 8, salt)?;
    let batch = window.get(last..at)?.to_vec();
    if last < at && Head::read(&batch, salt).and_then(|head| head.payload(&batch, salt)).is_none() {
        return Err(io::Error::other("it has changed since it was read")); // it would be written so
    }
    Ok(Some(Tail { size: window.size(), file, last, end: at, batch, is_followed }))
}

fn content(
    head: &Head,
    at: u64,
    window: &mut Window<'_>,
    salt: u64,
    payloads: &mut Vec<u8>,
) -> io::Result<Content<Range<usize>>> {
    match head.kind {
        Kind::Seal => return Ok(Content::Seal),
        Kind::Turn => return Ok(Content::Turn),
        Kind::Batch => {}
    }
    let end = at + head.size() as u64;
    if end > window.size() {
        return Ok(Content::Wrong("the file was cut in a batch"));
    }
    let Some(payload) = head.payload(window.get(at..end)?, salt) else { return Ok(Content::Torn) };
    payloads.extend_from_slice(payload);
    Ok(Content::Batch(payloads.len() - payload.len()..payloads.len()))
}

/// Looks from a place on for a frame.
fn has_frame(window: &mut Window<'_>, mut from: u64, salt: u64) -> io::Result<bool> {
    while from + FRAME as u64 <= window.size() {
        let bytes = window.get(from..from + PART)?;
        if frame::is_in(bytes, salt) {
            return Ok(true);
        }
        from += PART - FRAME as u64; // one may begin in the last bytes
    }
    Ok(false)
}

impl Part<Unread> {
    /// Reads the records.
    pub(crate) fn take_apart(self) -> Part<Read> {
        match self {
            Self::Frames(Unread { frames, payloads }) => {
                let mut operations = Vec::new();
                let frames = frames.into_iter().map(|frame| frame.take_apart(&payloads, &mut operations));
                Part::Frames(Read { frames: frames.collect(), operations })
            }
            Self::End(tail) => Part::End(tail),
            Self::Failed(error) => Part::Failed(error),
        }
    }
}

impl Frame<Range<usize>> {
    fn take_apart(self, payloads: &[u8], operations: &mut Vec<Operation>) -> Frame<Records> {
        let content = match self.content {
            Content::Batch(payload) => {
                let mut reader = Reader(&payloads[payload]);
                Content::Batch(std::iter::from_fn(|| reader.record(operations)).collect())
            }
            Content::Seal => Content::Seal,
            Content::Turn => Content::Turn,
            Content::Torn => Content::Torn,
            Content::Wrong(what) => Content::Wrong(what),
        };
        Frame { at: self.at, revision: self.revision, content }
    }
}

impl Tail {
    /// Makes the last batch durable before anybody reads it. It may only be in the system's memory; and where a sync failed
    /// before, the system may think that it is durable, and is told again.
    pub(crate) fn settle(&self) -> io::Result<()> {
        if self.batch.len() >= FRAME {
            self.file.write_at(&self.batch, self.last)?;
        }
        self.file.sync()
    }
}
