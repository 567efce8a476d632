//! A seeded pseudo-random number generator.

/// A pseudo-random number generator; the seed determines its numbers.
#[derive(Clone, Debug)]
pub struct Dice(u64);

impl Dice {
    /// Creates a generator with `seed`.
    #[must_use]
    pub const fn new(seed: u64) -> Self {
        Self(seed)
    }

    /// Returns the next number (splitmix64).
    pub const fn roll(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut mixed = self.0;
        mixed = (mixed ^ (mixed >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        mixed ^ (mixed >> 31)
    }

    /// Returns a number below `end`, or zero if `end` is zero.
    pub const fn below(&mut self, end: u64) -> u64 {
        match end {
            0 => 0,
            _ => self.roll() % end,
        }
    }

    /// Returns true with a probability of `per_mille` in a thousand.
    pub const fn chance(&mut self, per_mille: u16) -> bool {
        self.below(1000) < per_mille as u64
    }

    /// Returns true with a probability of one half.
    pub const fn coin(&mut self) -> bool {
        self.chance(500)
    }
}
