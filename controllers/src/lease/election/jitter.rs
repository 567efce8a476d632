//! Jitter of the polling interval.

use std::time::Duration;

/// Pseudo-random delays, so that candidates for one Lease do not poll in step.
pub(super) struct Jitter(u64);

impl Jitter {
    pub(super) const fn new(seed: u64) -> Self {
        Self(seed)
    }

    /// Returns 1 to 2.2 periods, as client-go.
    pub(super) fn of(&mut self, period: Duration) -> Duration {
        period + period.mul_f64(1.2 * self.share())
    }

    /// Returns a number from 0 to 1 (splitmix64).
    fn share(&mut self) -> f64 {
        self.0 = self.0.wrapping_add(0x9E37_79B9_7F4A_7C15);
        let mut mixed = self.0;
        mixed = (mixed ^ (mixed >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
        mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
        ((mixed ^ (mixed >> 31)) >> 11) as f64 / (1_u64 << 53) as f64
    }
}
