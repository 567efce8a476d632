//! Options of a store, for every backend.

use std::time::Duration;

use crate::contract::Limits;

/// The options of a store. The defaults suit a control plane on one machine.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Options {
    /// Limits on requests and on the size of the store.
    pub limits: Limits,
    /// The compaction policy.
    pub retention: Retention,
    /// Seed of the hash tables. Use an unpredictable one if untrusted clients choose the keys.
    pub seed: u64,
}

/// A compaction policy: how long history is kept for reads at a revision and for watches that
/// resume.
///
/// Reaching any limit compacts. The policy runs with each commit, so an idle store keeps its
/// history. Watches that have not read a compacted change end with
/// [`TooSlow`](crate::WatchError::TooSlow).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Retention {
    /// Compacts revisions older than this; `None` disables compaction by age.
    pub age: Option<Duration>,
    /// Keeps at least this many revisions and compacts older ones; `None` disables compaction by
    /// count.
    pub revisions: Option<u64>,
    /// Compacts the oldest revisions when history takes more bytes of memory than this; `None`
    /// disables compaction by bytes. Counted are keys and values of replaced and deleted entries,
    /// and about 256 bytes for each revision.
    pub bytes: Option<u64>,
}

impl Retention {
    /// Compacts only on request.
    pub const MANUAL: Self = Self { age: None, revisions: None, bytes: None };
}

impl Default for Retention {
    fn default() -> Self {
        Self { age: Some(Duration::from_secs(300)), revisions: Some(200_000), bytes: Some(512 << 20) }
    }
}

/// The size of a store.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Usage {
    /// Number of keys, including deleted keys with history.
    pub keys: u64,
    /// Bytes of keys and values, including old versions. The quota limits this number.
    pub bytes: u64,
    /// Number of revisions after the compacted one.
    pub revisions: u64,
}
