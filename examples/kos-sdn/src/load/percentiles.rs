//! Percentiles of samples and of histogram buckets.

use std::collections::BTreeMap;

/// The latencies of a step with one cause.
#[derive(Clone, Debug, PartialEq)]
pub struct LatencyRow {
    /// The step.
    pub step: String,
    /// The event from which latencies are counted.
    pub cause: String,
    /// Number of samples.
    pub count: u64,
    /// Percentiles 50, 90, 99 and 100, in seconds.
    pub seconds: [f64; 4],
}

/// Cumulative counts by upper bound in microseconds; the last bucket has no bound.
pub type Buckets = BTreeMap<u64, u64>;

const SHARES: [f64; 4] = [0.5, 0.9, 0.99, 1.0];

/// Returns the percentiles of samples, or `None` without samples. Percentiles are samples: no
/// interpolation.
#[must_use]
#[allow(
    clippy::cast_precision_loss,
    clippy::cast_possible_truncation,
    clippy::cast_sign_loss,
    reason = "an index into the samples"
)]
pub fn sample_percentiles(step: &str, cause: &str, samples: &[f64]) -> Option<LatencyRow> {
    let mut sorted: Vec<f64> = samples.iter().copied().filter(|sample| sample.is_finite()).collect();
    sorted.sort_unstable_by(f64::total_cmp);
    let at = |share: f64| {
        let place = (share * sorted.len() as f64).ceil() as usize;
        sorted.get(place.max(1) - 1).copied()
    };
    let [p50, p90, p99, most] = SHARES.map(at);
    Some(LatencyRow {
        step: step.into(),
        cause: cause.into(),
        count: sorted.len() as u64,
        seconds: [p50?, p90?, p99?, most?],
    })
}

/// Returns the percentiles of buckets, interpolated linearly. The bucket without bound (`u64::MAX`)
/// counts at the last finite bound.
#[must_use]
#[allow(clippy::cast_precision_loss, reason = "printed with few digits")]
pub fn bucket_percentiles(step: &str, cause: &str, buckets: &Buckets) -> Option<LatencyRow> {
    let count = *buckets.get(&u64::MAX)?;
    if count == 0 {
        return None;
    }
    let at = |share: f64| {
        let target = share * count as f64;
        let (mut below, mut before) = (0.0, 0.0);
        for (bound, up_to) in buckets {
            let up_to = *up_to as f64;
            if up_to >= target && up_to > before {
                if *bound == u64::MAX {
                    return below;
                }
                let bound = *bound as f64 / 1e6;
                return below + (bound - below) * (target - before) / (up_to - before);
            }
            if *bound != u64::MAX {
                below = *bound as f64 / 1e6;
            }
            before = up_to;
        }
        below
    };
    Some(LatencyRow { step: step.into(), cause: cause.into(), count, seconds: SHARES.map(at) })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sample_percentiles_are_samples() {
        let samples: Vec<f64> = (1..=100).rev().map(f64::from).collect();
        assert_eq!(sample_percentiles("x", "na", &samples).unwrap().seconds, [50.0, 90.0, 99.0, 100.0]);
        assert_eq!(sample_percentiles("x", "na", &[7.0]).unwrap().seconds, [7.0; 4]);
        assert_eq!(sample_percentiles("x", "na", &[]), None);
        assert_eq!(sample_percentiles("x", "na", &[f64::NAN]), None);
    }

    #[test]
    fn bucket_percentiles_are_interpolated() {
        let buckets = Buckets::from([(1_000_000, 50), (2_000_000, 90), (4_000_000, 100), (u64::MAX, 100)]);
        let row = bucket_percentiles("x", "na", &buckets).unwrap();
        assert_eq!((row.count, row.seconds), (100, [1.0, 2.0, 3.8, 4.0]));
        let beyond = Buckets::from([(1_000_000, 1), (u64::MAX, 2)]);
        assert_eq!(bucket_percentiles("x", "na", &beyond).unwrap().seconds, [1.0; 4]);
        assert_eq!(bucket_percentiles("x", "na", &Buckets::from([(u64::MAX, 0)])), None);
    }
}
