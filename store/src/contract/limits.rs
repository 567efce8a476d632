//! How much is too much.

/// The limits of one store. Whatever exceeds one is refused by an error that names it, but for `waiting_commits`.
///
/// Files have two bytes for a number of operations, and four for a number of bytes: larger limits count as 65 535 operations, and
/// as a gigabyte.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Limits {
    /// Conditions, puts and deletes of one transaction, together.
    pub operations: usize,
    /// Bytes of a key.
    pub key_bytes: usize,
    /// Bytes of a value.
    pub value_bytes: usize,
    /// Bytes of all keys and values of one transaction.
    pub transaction_bytes: usize,
    /// Transactions that wait to be durable. Whoever comes then waits for a place. In memory nobody waits.
    pub waiting_commits: usize,
    /// Watches that run at the same time.
    pub watches: usize,
    /// Bytes of keys and values that the store holds, old versions included. Beyond them there is an eighth more for transactions that put
    /// only what is there already and grows by 4 KiB at most: what marks something to be deleted, and what gives it up.
    pub quota_bytes: u64,
}

impl Limits {
    /// By how much a value may grow beyond the quota.
    const RESERVE_GROWTH: usize = 4096;

    /// Whether a value of `bytes` instead of the one that is there, if one is, is what the reserve is for.
    pub(crate) fn fits_reserve(bytes: usize, there: Option<usize>) -> bool {
        there.is_some_and(|there| bytes <= there + Self::RESERVE_GROWTH)
    }

    /// Bytes that the store may hold, the reserve included.
    pub(crate) fn with_reserve(quota_bytes: u64) -> u64 {
        quota_bytes.saturating_add(quota_bytes / 8)
    }

    /// What files have room for.
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
