//! Frames of a log, after its header: batches, each written and synced as one, then a seal or a
//! turn.
//!
//! ```text
//! 0   4  "fram"
//! 4   4  kind: 1 batch, 2 seal, 3 turn: the log continues in the next file
//! 8   8  batch: the newest revision before it · seal, turn: the newest revision
//! 16  4  bytes of the payload
//! 20  4  checksum of the payload
//! 24  4  batch: the link, the checksum of the header of the batch before it in this file, or zero
//! 28  4  checksum of the 28 bytes before
//! 32  …  payload, and zeros up to a multiple of eight
//! ```
//! A batch is written only once the previous one is durable, over that one's seal. So a valid
//! frame after an invalid one proves that the invalid one was durable: it is corruption, and not
//! the end. A link that does not match proves that another process wrote to the file meanwhile. It
//! is zero in the first batch of a file, and in every batch of earlier versions. A file always has
//! space for a frame header after its last frame before that frame is written: a file without it
//! was truncated.

use machinery_objects::Revision;

use super::format::{array, checksum};

/// Bytes of a frame header.
pub(crate) const FRAME: usize = 32;

const MAGIC: &[u8; 4] = b"fram";
// With aligned frames, the search for one behind a bad one tries every eighth byte only.
const ALIGN: usize = 8;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum FrameKind {
    Batch = 1,
    Seal = 2,
    Turn = 3,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct FrameHead {
    pub(crate) kind: FrameKind,
    pub(crate) revision: Revision,
    pub(crate) length: usize,
    sum: u32,
    /// The link to the previous batch.
    link: u32,
    /// The link of the next batch.
    next_link: u32,
}

/// Completes `frame`: fills the 32 bytes before the payload, and pads it. Returns the link of the
/// next batch.
pub(crate) fn finish(frame: &mut Vec<u8>, kind: FrameKind, revision: Revision, salt: u64, link: u32) -> u32 {
    let length = frame.len() - FRAME;
    let sum = checksum(salt, &frame[FRAME..]);
    let head = &mut frame[..FRAME];
    head[..4].copy_from_slice(MAGIC);
    head[4..8].copy_from_slice(&(kind as u32).to_le_bytes());
    head[8..16].copy_from_slice(&revision.0.to_le_bytes());
    head[16..20].copy_from_slice(&(length as u32).to_le_bytes());
    head[20..24].copy_from_slice(&sum.to_le_bytes());
    head[24..28].copy_from_slice(&link.to_le_bytes());
    // A second checksum: the search for frames verifies headers without their payloads.
    let sum = checksum(salt, &head[..28]);
    head[28..].copy_from_slice(&sum.to_le_bytes());
    frame.resize(frame.len().next_multiple_of(ALIGN), 0);
    sum
}

/// Returns the link of the batch after a valid `batch`; zero if there is none.
pub(crate) fn next_link(batch: &[u8]) -> u32 {
    if batch.len() < FRAME { 0 } else { u32::from_le_bytes(array(batch, 28)) }
}

impl FrameHead {
    /// Parses a frame header; `None` if the bytes are not one.
    pub(crate) fn read(bytes: &[u8], salt: u64) -> Option<Self> {
        let head = bytes.get(..FRAME)?;
        if head[..4] != *MAGIC || checksum(salt, &head[..28]).to_le_bytes() != head[28..] {
            return None;
        }
        let kind = match u32::from_le_bytes(array(head, 4)) {
            1 => FrameKind::Batch,
            2 => FrameKind::Seal,
            3 => FrameKind::Turn,
            _ => return None,
        };
        let number = |place| u32::from_le_bytes(array(head, place));
        let revision = Revision(u64::from_le_bytes(array(head, 8)));
        let (length, sum, link, next_link) = (number(16) as usize, number(20), number(24), number(28));
        Some(Self { kind, revision, length, sum, link, next_link })
    }

    /// Returns the link of the batch after this one, if this one may follow a batch with the next
    /// link `link`.
    pub(crate) fn follow(&self, link: u32) -> Option<u32> {
        (self.link == 0 || self.link == link).then_some(self.next_link)
    }

    /// Returns the size of the whole frame.
    pub(crate) fn size(&self) -> usize {
        FRAME + self.length.next_multiple_of(ALIGN)
    }

    /// Returns the payload of the frame at the start of `bytes`; `None` if its checksum is wrong.
    pub(crate) fn payload<'a>(&self, bytes: &'a [u8], salt: u64) -> Option<&'a [u8]> {
        let payload = bytes.get(FRAME..FRAME + self.length)?;
        (checksum(salt, payload) == self.sum).then_some(payload)
    }
}

/// Returns whether a frame header is in `bytes`, at an aligned offset.
pub(crate) fn is_in(bytes: &[u8], salt: u64) -> bool {
    let mut places = (0..bytes.len().saturating_sub(FRAME - 1)).step_by(ALIGN);
    places.any(|place| FrameHead::read(&bytes[place..], salt).is_some())
}
