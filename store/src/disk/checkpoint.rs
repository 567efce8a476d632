//! Writing of checkpoints. A checkpoint is the whole state in one file: every key with its versions
//! back to the compacted revision.
//!
//! ```text
//! block    u32 n, checksum, n bytes of records
//! record   kind, [u32 k, key], u64 revision, u16 place, [u64 created, u32 v, value]
//! kind     1 present, 2 gone; +16 if it is an older version of the previous record's key,
//!          which is then omitted
//! ```
//! Keys ascend; the versions of a key descend. A checkpoint gets its name only once it is complete
//! and durable.

use std::io;

use machinery_objects::Revision;

use super::file_name::{FileName, UNFINISHED};
use super::format::{FORMAT, FileKind, HEADER, Header, checksum};
use super::maintenance::SYNC_CHUNK;
use super::record::write_bytes;
use crate::core::{Version, View};
use crate::files::{File, Files};

/// Size at which a block is written.
const BLOCK: usize = 256 * 1024;
/// Bytes of a block's header.
pub(super) const HEAD: usize = 8;

pub(super) const PRESENT: u8 = 1;
pub(super) const GONE: u8 = 2;
pub(super) const SAME_KEY: u8 = 16;

/// Writes the checkpoint of `revision`, the newest published one in `view`. `compacted` is called
/// after all versions are written, because compaction meanwhile may have removed some. `throttle`
/// is called now and then, and may abort. Fails if a checkpoint of that name is being written; a
/// later failure leaves no file.
pub(crate) fn write(
    files: &dyn Files,
    name: &str,
    view: &View,
    revision: Revision,
    compacted: impl FnOnce() -> Revision,
    throttle: impl Fn() -> io::Result<()>,
) -> io::Result<()> {
    let unfinished = format!("{name}{UNFINISHED}");
    let file = files.create(&unfinished)?;
    let made = fill(files, &*file, view, revision, compacted, throttle)
        .and_then(|()| files.rename(&unfinished, name));
    if made.is_err() {
        let _ = files.remove(&unfinished);
    }
    made?;
    files.sync()
}

fn fill(
    files: &dyn Files,
    file: &dyn File,
    view: &View,
    revision: Revision,
    compacted: impl FnOnce() -> Revision,
    throttle: impl Fn() -> io::Result<()>,
) -> io::Result<()> {
    let mut blocks = Blocks { file, salt: files.salt()?, end: HEADER as u64, block: vec![0; HEAD] };
    let mut count = 0;
    for newest in view.all() {
        // A failed write may have left newer versions, which were never published.
        let mut next = newest.at(revision).map(|version| (version, 0));
        while let Some((version, same)) = next {
            if blocks.add(&version, same)? {
                throttle()?;
            }
            count += 1;
            next = version.older().map(|older| (older, SAME_KEY));
        }
    }
    blocks.flush()?;
    // Compaction may have passed the revision of the checkpoint meanwhile.
    let from = compacted().min(revision).0;
    let header = Header {
        format: FORMAT,
        kind: FileKind::Checkpoint,
        salt: blocks.salt,
        number: revision.0,
        from,
        count,
    };
    file.write_at(&header.encode(), 0)?;
    file.sync()
}

/// Removes a file that an interrupted attempt may have left.
pub(crate) fn remove_if_there(files: &dyn Files, name: &str) -> io::Result<()> {
    match files.remove(name) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(()),
        done => done,
    }
}

struct Blocks<'a> {
    file: &'a dyn File,
    salt: u64,
    end: u64,
    block: Vec<u8>,
}

impl Blocks<'_> {
    /// Adds a version. Returns whether a chunk was synced.
    fn add(&mut self, version: &Version, same: u8) -> io::Result<bool> {
        let block = &mut self.block;
        block.push(same | if version.entry().is_some() { PRESENT } else { GONE });
        if same == 0 {
            write_bytes(block, version.key().as_bytes());
        }
        block.extend_from_slice(&version.revision().0.to_le_bytes());
        block.extend_from_slice(&version.place.to_le_bytes());
        if let Some(entry) = version.entry() {
            block.extend_from_slice(&entry.created.0.to_le_bytes());
            write_bytes(block, &entry.value);
        }
        if block.len() < BLOCK { Ok(false) } else { self.flush() }
    }

    fn flush(&mut self) -> io::Result<bool> {
        let length = self.block.len() - HEAD;
        if length == 0 {
            return Ok(false);
        }
        let sum = checksum(self.salt, &self.block[HEAD..]);
        self.block[..4].copy_from_slice(&(length as u32).to_le_bytes());
        self.block[4..HEAD].copy_from_slice(&sum.to_le_bytes());
        self.file.write_at(&self.block, self.end)?;
        let end = self.end + self.block.len() as u64;
        // Sync often: a sync of the log would wait for all unsynced data.
        let gulped = self.end / SYNC_CHUNK != end / SYNC_CHUNK;
        if gulped {
            self.file.sync()?;
        }
        self.end = end;
        self.block.truncate(HEAD);
        Ok(gulped)
    }
}

/// Returns the file name of the checkpoint of `revision`.
pub(crate) fn name(revision: Revision) -> String {
    FileName::Checkpoint(revision).to_string()
}
