//! The limits of a store.

/// The limits of a store. Exceeding one is refused with an error that names it, except for
/// `waiting_commits`.
///
/// The file format has two bytes for a number of operations and four for a number of bytes: larger
/// limits are lowered to 65 535 operations and to one gigabyte.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Limits {
    /// Conditions and operations of one transaction, together.
    pub operations: usize,
    /// Bytes of a key.
    pub key_bytes: usize,
    /// Bytes of a value.
    pub value_bytes: usize,
    /// Bytes of all keys and values of one transaction.
    pub transaction_bytes: usize,
    /// Transactions waiting for a sync. Further commits wait for a free slot. In memory no commit
    /// waits.
    pub waiting_commits: usize,
    /// Concurrent watches.
    pub watches: usize,
    /// Bytes of keys and values in the store, including old versions. An eighth more is reserved
    /// for transactions that only put existing keys and grow each value by at most 4 KiB: deletion
    /// timestamps and removed finalizers.
    pub quota_bytes: u64,
}

impl Limits {
    /// Maximum growth of a value beyond the quota.
    const RESERVE_GROWTH: usize = 4096;

    /// Returns whether replacing a value of `there` bytes by one of `bytes` may use the reserve.
    pub(crate) fn fits_reserve(bytes: usize, there: Option<usize>) -> bool {
        there.is_some_and(|there| bytes <= there + Self::RESERVE_GROWTH)
    }

    /// Returns the quota with its reserve.
    pub(crate) fn with_reserve(quota_bytes: u64) -> u64 {
        // The reserve is bounded: each put in it leaves an old version until compaction.
        quota_bytes.saturating_add(quota_bytes / 8)
    }

    /// Returns the limits lowered to those of the file format.
    pub(crate) fn clamped_to_format(self) -> Self {
        const GIGABYTE: usize = 1 << 30;
        Self {
            operations: self.operations.min(u16::MAX.into()),
            key_bytes: self.key_bytes.min(GIGABYTE),
            value_bytes: self.value_bytes.min(GIGABYTE),
            transaction_bytes: self.transaction_bytes.min(GIGABYTE),
            ..self
        }
    }
}

impl Default for Limits {
    fn default() -> Self {
        Self {
            operations: 100,
            key_bytes: 1024,
            value_bytes: 1536 * 1024,
            transaction_bytes: 8 * 1024 * 1024,
            waiting_commits: 1024,
            watches: 100_000,
            quota_bytes: 8 * 1024 * 1024 * 1024,
        }
    }
}
