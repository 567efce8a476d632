//! What has been done with locks.

use std::sync::atomic::{AtomicU64, Ordering::Relaxed};

use super::Claim;

/// What has been done with locks.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct LockCounts {
    /// Claims that made a name the owner's, or found that it is.
    pub held: u64,
    /// Claims that found another's.
    pub taken: u64,
    /// Claims of which it is not known what came.
    pub failed: u64,
    /// Names that were given back.
    pub released: u64,
    /// Times that one who waits was told that a name is free.
    pub wakes: u64,
}

/// How locks are, for those who look at many.
#[cfg(feature = "prometheus")]
pub(crate) struct LockSample {
    pub(crate) counts: LockCounts,
    pub(crate) locks: usize,
    pub(crate) waiters: usize,
    pub(crate) misnamed: usize,
}

/// The counts where they are made.
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
