//! Splits a byte stream into lines. Pure.

use std::mem;

use bytes::{Buf, Bytes, BytesMut};
use memchr::memchr;

/// Splits pieces of a body into lines. A line within one piece is not copied.
#[derive(Debug)]
pub(super) struct LineSplitter {
    /// The beginning of a line, from earlier pieces. Contains no newline.
    begun: BytesMut,
    /// The rest of the latest piece.
    piece: Bytes,
    /// Maximum bytes of a line.
    limit: usize,
}

/// A line exceeds the limit. No further line follows.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct TooLong;

impl LineSplitter {
    pub(super) fn new(limit: usize) -> Self {
        Self { begun: BytesMut::new(), piece: Bytes::new(), limit }
    }

    /// Adds a piece, after the lines of the previous one were taken.
    pub(super) fn push(&mut self, piece: Bytes) {
        debug_assert!(self.piece.is_empty(), "the piece before was cut to its end");
        self.piece = piece;
    }

    /// Returns the next line without its end, skipping empty ones; `None` if more pieces are
    /// needed.
    pub(super) fn next(&mut self) -> Result<Option<Bytes>, TooLong> {
        while !self.piece.is_empty() {
            let end = memchr(b'\n', &self.piece);
            let length = end.unwrap_or(self.piece.len());
            // Checked before the piece is stored, so that the limit bounds the memory.
            if self.begun.len().saturating_add(length) > self.limit {
                return Err(TooLong);
            }
            let Some(end) = end else {
                self.begun.extend_from_slice(&mem::take(&mut self.piece));
                return Ok(None);
            };
            let cut = self.piece.split_to(end);
            self.piece.advance(1);
            let line = if self.begun.is_empty() {
                cut
            } else {
                self.begun.extend_from_slice(&cut);
                self.begun.split().freeze()
            };
            if !line.trim_ascii().is_empty() {
                return Ok(Some(line));
            }
        }
        Ok(None)
    }

    /// Returns whether a line is incomplete.
    pub(super) fn has_partial_line(&self) -> bool {
        !self.begun.trim_ascii().is_empty()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn cut(pieces: &[&[u8]], limit: usize) -> (Vec<Bytes>, Result<bool, TooLong>) {
        let (mut lines, mut found) = (LineSplitter::new(limit), Vec::new());
        for piece in pieces {
            lines.push(Bytes::copy_from_slice(piece));
            loop {
                match lines.next() {
                    Ok(Some(line)) => found.push(line),
                    Ok(None) => break,
                    Err(error) => return (found, Err(error)),
                }
            }
        }
        (found, Ok(lines.has_partial_line()))
    }

    #[test]
    fn a_line_is_bounded_in_any_split() {
        let check = |pieces: &[&[u8]], expected| assert_eq!(cut(pieces, 4).1, expected);
        check(&[b"1234\n"], Ok(false));
        check(&[b"12", b"34", b"\n"], Ok(false));
        check(&[b"12345\n"], Err(TooLong));
        check(&[b"12", b"34", b"5"], Err(TooLong));
        check(&[b"1\n23", b"45", b"6\n"], Err(TooLong));
        check(&[b"1\n23"], Ok(true));
        check(&[b"1\n \r"], Ok(false));
    }

    proptest! {
        #[test]
        fn lines_are_those_of_the_whole(
            pieces in prop::collection::vec(prop::collection::vec(prop::sample::select(&b"ab\n\r"[..]), 0..9), 0..9),
        ) {
            let whole = pieces.concat();
            let is_line = |line: &&[u8]| !line.trim_ascii().is_empty();
            let mut expected: Vec<_> = whole.split(|byte| *byte == b'\n').collect();
            let rest = expected.pop().unwrap_or_default();
            let (found, end) = cut(&pieces.iter().map(Vec::as_slice).collect::<Vec<_>>(), 1000);
            prop_assert_eq!(found, expected.into_iter().filter(is_line).collect::<Vec<_>>());
            prop_assert_eq!(end, Ok(!rest.trim_ascii().is_empty()));
        }
    }
}
