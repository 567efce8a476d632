//! Exponential back-off with jitter.

use std::time::Duration;

/// A delay that grows with each failure, with jitter, until it is reset.
pub(crate) struct Backoff {
    failures: u32,
    random: u64,
}

const MIN: Duration = Duration::from_millis(250);
const MAX: Duration = Duration::from_secs(30);

impl Backoff {
    pub(crate) const fn new(seed: u64) -> Self {
        Self { failures: 0, random: seed }
    }

    /// Returns the next delay: between half and all of the exponential value.
    pub(crate) fn next(&mut self) -> Duration {
        let whole = MAX.min(MIN * 2_u32.saturating_pow(self.failures.min(16)));
        self.failures = self.failures.saturating_add(1);
        // At least half: jitter over the whole range would permit immediate retries.
        whole / 2 + (whole / 2).mul_f64(self.share())
    }

    pub(crate) const fn reset(&mut self) {
        self.failures = 0;
    }

    pub(crate) const fn failures(&self) -> u32 {
        self.failures
    }

    /// Returns a number between 0 and 1 (splitmix64): jitter, so that clients that failed together
    /// do not retry together.
    fn share(&mut self) -> f64 {
        self.random = self.random.wrapping_add(0x9E37_79B9_7F4A_7C15);
        let mut mixed = self.random;
        mixed = (mixed ^ (mixed >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
        mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
        ((mixed ^ (mixed >> 31)) >> 11) as f64 / (1_u64 << 53) as f64
    }
}
