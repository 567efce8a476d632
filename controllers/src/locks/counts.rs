//! Counts of name locks.

use std::sync::atomic::{AtomicU64, Ordering::Relaxed};

use super::Claim;

/// Counts of name locks in this process.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct LockCounts {
    /// Claims that acquired a name or found it held by the owner.
    pub held: u64,
    /// Claims that found another holder.
    pub taken: u64,
    /// Claims that failed.
    pub failed: u64,
    /// Released names.
    pub released: u64,
    /// Notifications of waiters.
    pub wakes: u64,
}

/// Sample of the values that metrics export.
#[cfg(feature = "prometheus")]
pub(crate) struct LockSample {
    pub(crate) counts: LockCounts,
    pub(crate) locks: usize,
    pub(crate) waiters: usize,
    pub(crate) misnamed: usize,
}

/// Atomic counters behind [`LockCounts`].
#[derive(Default)]
pub(super) struct LockCounters {
    held: AtomicU64,
    taken: AtomicU64,
    failed: AtomicU64,
    released: AtomicU64,
    wakes: AtomicU64,
}

impl LockCounters {
    pub(super) fn claimed<K, E>(&self, claim: &Result<Claim<K>, E>) {
        let count = match claim {
            Ok(Claim::Held(_)) => &self.held,
            Ok(Claim::Taken(_)) => &self.taken,
            Err(_) => &self.failed,
        };
        count.fetch_add(1, Relaxed);
    }

    pub(super) fn released(&self) {
        self.released.fetch_add(1, Relaxed);
    }

    pub(super) fn woke(&self) {
        self.wakes.fetch_add(1, Relaxed);
    }

    pub(super) fn counts(&self) -> LockCounts {
        LockCounts {
            held: self.held.load(Relaxed),
            taken: self.taken.load(Relaxed),
            failed: self.failed.load(Relaxed),
            released: self.released.load(Relaxed),
            wakes: self.wakes.load(Relaxed),
        }
    }
}
