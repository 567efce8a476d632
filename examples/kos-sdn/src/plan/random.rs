//! A seeded pseudorandom number generator.

/// SplitMix64: the same seed gives the same sequence.
#[derive(Clone, Debug)]
pub struct SplitMix64(u64);

impl SplitMix64 {
    /// Creates a generator from a seed.
    #[must_use]
    pub const fn new(seed: u64) -> Self {
        Self(seed)
    }

    /// Returns the next number.
    pub const fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9E37_79B9_7F4A_7C15);
        let mixed = (self.0 ^ (self.0 >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
        let mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
        mixed ^ (mixed >> 31)
    }

    /// Returns a number in [0, 1).
    #[allow(clippy::cast_precision_loss, reason = "of 53 bits none is lost")]
    pub const fn fraction(&mut self) -> f64 {
        (self.next() >> 11) as f64 / (1_u64 << 53) as f64
    }

    /// Returns a number in [0, `number`).
    pub fn below(&mut self, number: usize) -> usize {
        let number = number.max(1) as u64;
        usize::try_from(self.next() % number).unwrap_or(0)
    }

    /// Shuffles a slice.
    pub fn shuffle<T>(&mut self, all: &mut [T]) {
        for last in (1..all.len()).rev() {
            let other = self.below(last + 1);
            all.swap(last, other);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Reference values published for SplitMix64.
    #[test]
    fn sequence_matches_reference() {
        let mut chance = SplitMix64::new(1_234_567);
        assert_eq!([chance.next(), chance.next()], [6_457_827_717_110_365_317, 3_203_168_211_198_807_973]);
    }

    #[test]
    fn shuffle_is_a_permutation() {
        let mut row: Vec<u32> = (0..100).collect();
        SplitMix64::new(7).shuffle(&mut row);
        assert_ne!(row, (0..100).collect::<Vec<_>>());
        row.sort_unstable();
        assert_eq!(row, (0..100).collect::<Vec<_>>());
        let mut chance = SplitMix64::new(7);
        assert!((0..1000).all(|_| (0.0..1.0).contains(&chance.fraction())));
    }
}
