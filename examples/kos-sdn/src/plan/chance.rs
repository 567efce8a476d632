//! Numbers in which nobody sees a rule, the same ones from the same beginning.

/// A row of such numbers.
#[derive(Clone, Debug)]
pub struct Chance(u64);

impl Chance {
    /// The row that begins there.
    #[must_use]
    pub const fn new(seed: u64) -> Self {
        Self(seed)
    }

    /// The next one.
    pub const fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9E37_79B9_7F4A_7C15);
        let mixed = (self.0 ^ (self.0 >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
        let mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
        mixed ^ (mixed >> 31)
    }

    /// From 0 up to 1.
    #[allow(clippy::cast_precision_loss, reason = "of 53 bits none is lost")]
    pub const fn fraction(&mut self) -> f64 {
        (self.next() >> 11) as f64 / (1_u64 << 53) as f64
    }

    /// From 0 up to a number, which is above it.
    pub fn below(&mut self, number: usize) -> usize {
        let number = number.max(1) as u64;
        usize::try_from(self.next() % number).unwrap_or(0)
    }

    /// Puts a row in any order.
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

    /// As the authors of SplitMix64 have it.
    #[test]
    fn it_is_the_row_that_it_is_meant_to_be() {
        let mut chance = Chance::new(1_234_567);
        assert_eq!([chance.next(), chance.next()], [6_457_827_717_110_365_317, 3_203_168_211_198_807_973]);
    }

    #[test]
    fn all_stay_in_a_row_that_is_shuffled() {
        let mut row: Vec<u32> = (0..100).collect();
        Chance::new(7).shuffle(&mut row);
        assert_ne!(row, (0..100).collect::<Vec<_>>());
        row.sort_unstable();
        assert_eq!(row, (0..100).collect::<Vec<_>>());
        let mut chance = Chance::new(7);
        assert!((0..1000).all(|_| (0.0..1.0).contains(&chance.fraction())));
    }
}
