//! How a store uses its directory.

use crate::options::Options;

/// How a [`Disk`](super::Disk) behaves.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct DiskOptions {
    /// As for any store.
    pub store: Options,
    /// Bytes of a segment of the log, which is made ahead of time. All since the last checkpoint are there, and up to eight more.
    pub segment_bytes: u64,
    /// A checkpoint is made when the log after the last one is longer than this, and longer than all that the store holds.
    /// More makes restarts slower and writing cheaper.
    pub checkpoint_bytes: u64,
    /// Whether segments and checkpoints are made by a thread of their own. If not, whoever commits waits for them: then
    /// everything that is done to the disk has one order, which tests want.
    pub background: bool,
}

impl Default for DiskOptions {
    fn default() -> Self {
        Self {
            store: Options::default(),
            segment_bytes: 64 * 1024 * 1024,
            checkpoint_bytes: 512 * 1024 * 1024,
            background: true,
        }
    }
}
