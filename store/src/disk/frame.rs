//! What a log is made of after its header: batches, each written and synced as one, and behind the last a seal, or a turn.
//!
//! ```text
//! 0   4  "fram"
//! 4   4  kind: 1 batch, 2 seal, 3 turn: the log goes on in the next file
//! 8   8  batch: the newest revision before it · seal, turn: the newest revision
//! 16  4  bytes of the payload
//! 20  4  checksum of the payload
//! 24  4  zero
//! 28  4  checksum of the 28 bytes before
//! 32  …  payload, and zeros up to a multiple of eight
//! ```
//! A batch is written only when the one before it is durable, at the place where that one's seal was. So a whole frame that
//! stands behind a damaged one proves that the damaged one was durable once: it is damage, and not the end. And a file has room
//! for a frame's head behind its last frame before that frame is written: one that has not was cut.

use machinery_objects::Revision;

use super::format::{array, checksum};

/// Bytes before the payload.
pub(crate) const FRAME: usize = 32;

const MAGIC: &[u8; 4] = b"fram";
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
}

/// Makes `frame`, whose first 32 bytes are free and whose rest is a payload, into a frame.
pub(crate) fn finish(frame: &mut Vec<u8>, kind: FrameKind, revision: Revision, salt: u64) {
    let length = frame.len() - FRAME;
    let sum = checksum(salt, &frame[FRAME..]);
    let head = &mut frame[..FRAME];
    head[..4].copy_from_slice(MAGIC);
    head[4..8].copy_from_slice(&(kind as u32).to_le_bytes());
    head[8..16].copy_from_slice(&revision.0.to_le_bytes());
    head[16..20].copy_from_slice(&(length as u32).to_le_bytes());
    head[20..24].copy_from_slice(&sum.to_le_bytes());
    head[24..28].fill(0);
    let sum = checksum(salt, &head[..28]);
    head[28..].copy_from_slice(&sum.to_le_bytes());
    frame.resize(frame.len().next_multiple_of(ALIGN), 0);
}

impl FrameHead {
    /// Reads a frame's head; none if these bytes are not one.
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
        Some(Self { kind, revision, length: number(16) as usize, sum: number(20) })
    }

    /// Bytes of the whole frame.
    pub(crate) fn size(&self) -> usize {
        FRAME + self.length.next_multiple_of(ALIGN)
    }

    /// The payload of the frame that begins at `bytes`; none if it is not what was written.
    pub(crate) fn payload<'a>(&self, bytes: &'a [u8], salt: u64) -> Option<&'a [u8]> {
        let payload = bytes.get(FRAME..FRAME + self.length)?;
        (checksum(salt, payload) == self.sum).then_some(payload)
    }
}

/// Whether a frame begins in these bytes, which begin where one may.
pub(crate) fn is_in(bytes: &[u8], salt: u64) -> bool {
    let mut places = (0..bytes.len().saturating_sub(FRAME - 1)).step_by(ALIGN);
    places.any(|place| FrameHead::read(&bytes[place..], salt).is_some())
}
