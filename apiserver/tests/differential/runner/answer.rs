//! Answers: whole ones, and streams of lines.

use std::time::Duration;

use serde_json::Value;

use super::Result;
use super::client::{Opened, Piece, Pieces, whole};

/// A whole answer.
pub(super) struct CaseAnswer {
    pub(super) status: u16,
    pub(super) headers: Vec<(String, String)>,
    pub(super) bytes: Vec<u8>,
}

/// A streamed answer.
pub(super) struct CaseStream {
    pieces: Box<dyn Pieces>,
    /// Received bytes without a line end so far.
    bytes: Vec<u8>,
}

pub(super) enum Line {
    Event(Value),
    End,
    Late,
}

impl CaseAnswer {
    /// Reads the whole answer.
    pub(super) fn read(opened: Opened) -> Result<Self> {
        let Opened { status, headers, mut pieces } = opened;
        Ok(Self { status, headers, bytes: whole(&mut *pieces)? })
    }

    /// Its body, if that is JSON.
    pub(super) fn json(&self) -> Option<Value> {
        // Some errors are `text/plain`.
        matches!(self.bytes.first(), Some(b'{')).then(|| serde_json::from_slice(&self.bytes).ok()).flatten()
    }

    /// Formats the answer for messages.
    pub(super) fn shown(&self) -> String {
        format!("{} {}", self.status, String::from_utf8_lossy(&self.bytes[..self.bytes.len().min(2000)]))
    }
}

impl CaseStream {
    pub(super) fn new(pieces: Box<dyn Pieces>) -> Self {
        Self { pieces, bytes: Vec::new() }
    }

    /// The next one.
    pub(super) fn line(&mut self, patience: Duration) -> Result<Line> {
        loop {
            if let Some(at) = self.bytes.iter().position(|byte| *byte == b'\n') {
                let line: Vec<_> = self.bytes.drain(..=at).collect();
                return Ok(Line::Event(serde_json::from_slice(&line)?));
            }
            match self.pieces.next(patience)? {
                Piece::Bytes(bytes) => self.bytes.extend(bytes),
                Piece::End if self.bytes.is_empty() => return Ok(Line::End),
                Piece::End => self.bytes.push(b'\n'),
                Piece::Late => return Ok(Line::Late),
            }
        }
    }
}
