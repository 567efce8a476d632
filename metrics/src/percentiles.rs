//! Percentiles of samples and of histogram buckets.

use std::collections::BTreeMap;

/// The shares of [`percentiles_of`] and [`Buckets::percentiles`]: P50, P90, P99 and the maximum.
pub const SHARES: [f64; 4] = [0.5, 0.9, 0.99, 1.0];

/// Returns the percentiles of samples, or `None` without finite samples. Percentiles are samples:
/// no interpolation.
#[must_use]
#[allow(
    clippy::cast_precision_loss,
    clippy::cast_possible_truncation,
    clippy::cast_sign_loss,
    reason = "an index into the samples"
)]
pub fn percentiles_of(samples: &[f64]) -> Option<[f64; 4]> {
    let mut sorted: Vec<f64> = samples.iter().copied().filter(|sample| sample.is_finite()).collect();
    sorted.sort_unstable_by(f64::total_cmp);
    let at = |share: f64| {
        let rank = (share * sorted.len() as f64).ceil() as usize;
        sorted.get(rank.max(1) - 1).copied()
    };
    let [p50, p90, p99, most] = SHARES.map(at);
    Some([p50?, p90?, p99?, most?])
}

/// The cumulative counts of a histogram, by upper bound.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Buckets(BTreeMap<BoundBits, u64>);

/// A bound with the order of its number.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
struct BoundBits(i64);

impl BoundBits {
    fn of(bound: f64) -> Self {
        let bits = bound.to_bits().cast_signed();
        // The order of negative floats is the reverse of that of their bits.
        Self(bits ^ (((bits >> 63).cast_unsigned()) >> 1).cast_signed())
    }

    fn bound(self) -> f64 {
        let bits = self.0 ^ (((self.0 >> 63).cast_unsigned()) >> 1).cast_signed();
        f64::from_bits(bits.cast_unsigned())
    }
}

impl Buckets {
    /// Adds a cumulative count to that of a bound; the last bound is infinite.
    pub fn add(&mut self, bound: f64, count: u64) {
        if !bound.is_nan() {
            let sum = self.0.entry(BoundBits::of(bound)).or_default();
            *sum = sum.saturating_add(count);
        }
    }

    /// Adds the counts of another histogram with the same bounds.
    pub fn merge(&mut self, other: &Self) {
        other.0.iter().for_each(|(bound, count)| self.add(bound.bound(), *count));
    }

    /// Returns the number of values: the count of the infinite bound.
    #[must_use]
    pub fn count(&self) -> u64 {
        self.0.get(&BoundBits::of(f64::INFINITY)).copied().unwrap_or_default()
    }

    /// Returns the percentiles, interpolated linearly in their buckets; `None` without values. A
    /// value below the first bound counts as that bound, and one above the last finite bound as
    /// that one.
    #[must_use]
    pub fn percentiles(&self) -> Option<[f64; 4]> {
        let count = self.count();
        (count > 0 && self.0.len() > 1).then(|| SHARES.map(|share| self.percentile(share, count)))
    }

    #[allow(clippy::cast_precision_loss, reason = "printed with few digits")]
    fn percentile(&self, share: f64, count: u64) -> f64 {
        let target = share * count as f64;
        let (mut low, mut before) = (None, 0.0);
        for (bound, up_to) in &self.0 {
            let (bound, up_to) = (bound.bound(), *up_to as f64);
            if up_to >= target && up_to > before {
                return match low {
                    Some(low) if bound.is_finite() => {
                        low + (bound - low) * (target - before) / (up_to - before)
                    }
                    // From zero, if there can be no negative values.
                    None if bound.is_finite() && bound > 0.0 => bound * (target - before) / (up_to - before),
                    None if bound.is_finite() => bound,
                    low => low.unwrap_or_default(),
                };
            }
            if bound.is_finite() {
                low = Some(bound);
            }
            before = before.max(up_to);
        }
        low.unwrap_or_default()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn p04_sample_percentiles_are_samples() {
        let samples: Vec<f64> = (1..=100).rev().map(f64::from).collect();
        assert_eq!(percentiles_of(&samples), Some([50.0, 90.0, 99.0, 100.0]));
        assert_eq!(percentiles_of(&[7.0]), Some([7.0; 4]));
        assert_eq!((percentiles_of(&[]), percentiles_of(&[f64::NAN])), (None, None));
    }

    #[test]
    fn p04_bucket_percentiles_are_interpolated() {
        let check = |bounds: &[(f64, u64)], expected: Option<[f64; 4]>| {
            let mut buckets = Buckets::default();
            bounds.iter().for_each(|(bound, count)| buckets.add(*bound, *count));
            assert_eq!(buckets.percentiles(), expected);
        };
        const MORE: f64 = f64::INFINITY;
        check(&[(1.0, 50), (2.0, 90), (4.0, 100), (MORE, 100)], Some([1.0, 2.0, 3.8, 4.0]));
        check(&[(1.0, 1), (MORE, 2)], Some([1.0; 4]));
        check(&[(-1.0, 0), (-0.5, 1), (0.0, 1), (1.0, 2), (MORE, 2)], Some([-0.5, 0.8, 0.98, 1.0]));
        check(&[(-1.0, 2), (MORE, 2)], Some([-1.0; 4]));
        check(&[(MORE, 0)], None);
        check(&[(MORE, 3)], None);
        check(&[(f64::NAN, 3)], None);
    }

    #[test]
    fn p04_bounds_keep_their_order() {
        let bounds = [f64::NEG_INFINITY, -2.0, -0.5, 0.0, 1e-9, 0.5, 2.0, f64::INFINITY];
        for pair in bounds.windows(2) {
            assert!(BoundBits::of(pair[0]) < BoundBits::of(pair[1]), "{pair:?}");
        }
        assert!(bounds.iter().all(|bound| BoundBits::of(*bound).bound() == *bound));
    }
}
