//! The header of every file: its kind, format and salt.
//!
//! ```text
//! 0   8  "machstor"                     the same in every format, for ever
//! 8   4  format                         the same place in every format, for ever
//! 12  4  kind: 1 log, 2 checkpoint
//! 16  8  salt: goes into every checksum of the file
//! 24  8  log: its number · checkpoint: its revision
//! 32  8  log: the newest revision before it · checkpoint: the compacted revision
//! 40  8  log: what was compacted before it · checkpoint: how many versions follow
//! 48 12  zero
//! 60  4  CRC-32 of the 60 bytes before
//! ```
//! Numbers are little-endian.

use std::path::PathBuf;

use super::error::OpenError;
use crate::files::File;

/// The current format.
pub(crate) const FORMAT: u32 = 1;

/// Bytes of a header.
pub(crate) const HEADER: usize = 64;

const MAGIC: &[u8; 8] = b"machstor";

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Header {
    pub(crate) format: u32,
    pub(crate) kind: FileKind,
    pub(crate) salt: u64,
    pub(crate) number: u64,
    pub(crate) from: u64,
    pub(crate) count: u64,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum FileKind {
    Log = 1,
    Checkpoint = 2,
}

impl Header {
    pub(crate) fn encode(&self) -> [u8; HEADER] {
        let mut bytes = [0; HEADER];
        bytes[..8].copy_from_slice(MAGIC);
        bytes[8..12].copy_from_slice(&self.format.to_le_bytes());
        bytes[12..16].copy_from_slice(&(self.kind as u32).to_le_bytes());
        for (place, number) in [(16, self.salt), (24, self.number), (32, self.from), (40, self.count)] {
            bytes[place..place + 8].copy_from_slice(&number.to_le_bytes());
        }
        let sum = crc32fast::hash(&bytes[..60]);
        bytes[60..].copy_from_slice(&sum.to_le_bytes());
        bytes
    }

    /// Reads the header of `file`. Errors name `path`.
    pub(crate) fn read(
        file: &dyn File,
        path: impl Fn() -> PathBuf,
        kind: FileKind,
    ) -> Result<Self, OpenError> {
        let size = file.size().map_err(|error| OpenError::of("reading", path(), error))?;
        let mut bytes = [0; HEADER];
        let whole = size.min(HEADER as u64) as usize;
        file.read_at(&mut bytes[..whole], 0).map_err(|error| OpenError::of("reading", path(), error))?;
        if whole < 8 || bytes[..8] != *MAGIC {
            let what = "it does not begin like a file of a store".into();
            return Err(OpenError::NotAStore { path: path(), what });
        }
        let format = u32::from_le_bytes(array(&bytes, 8));
        if whole >= 12 && format > FORMAT {
            return Err(OpenError::NewerFormat { path: path(), found: format, newest: FORMAT });
        }
        if whole < HEADER {
            return Err(OpenError::damaged(path(), size, "the file ends in its header"));
        }
        let number = |place| u64::from_le_bytes(array(&bytes, place));
        let header =
            Self { format, kind, salt: number(16), number: number(24), from: number(32), count: number(40) };
        if header.encode() != bytes {
            return Err(OpenError::damaged(path(), 0, "the header is not what was written"));
        }
        Ok(header)
    }
}

/// Computes a checksum that depends on the file's salt, so that no client can store a value that
/// looks like a record.
pub(crate) fn checksum(salt: u64, bytes: &[u8]) -> u32 {
    let mut hasher = crc32fast::Hasher::new();
    hasher.update(&salt.to_le_bytes());
    hasher.update(bytes);
    hasher.finalize()
}

/// Returns the `N` bytes at `place`, which must exist.
pub(crate) fn array<const N: usize>(bytes: &[u8], place: usize) -> [u8; N] {
    bytes[place..place + N].try_into().expect("a slice of N bytes is an array of N bytes")
}
