//! Options of the disk backend.

use crate::options::Options;

/// The options of a [`Disk`](super::Disk).
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct DiskOptions {
    /// Options of any store.
    pub store: Options,
    /// Size of a log segment. Segments are preallocated. The log keeps all segments since the last
    /// checkpoint, and up to eight spares.
    pub segment_bytes: u64,
    /// A checkpoint is made when the log since the last one is longer than this, and larger than
    /// the store's data. More makes restarts slower and writes cheaper.
    pub checkpoint_bytes: u64,
    /// Whether a thread makes segments and checkpoints. If false, commits do so inline: the disk
    /// operations then have one order, which tests need.
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
