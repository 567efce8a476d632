//! Percentiles: of what was measured one by one, and of what was counted in buckets.

use std::collections::BTreeMap;

/// How long something took, by what it waited for.
#[derive(Clone, Debug, PartialEq)]
pub struct Row {
    /// What took so long.
    pub what: String,
    /// What it is counted from.
    pub cause: String,
    /// So many there were.
    pub count: u64,
    /// Of 100, so many took no longer: 50, 90, 99 and all, in seconds.
    pub seconds: [f64; 4],
}

/// What was counted: up to how many seconds, and how many took no longer; the last has no bound.
pub type Buckets = BTreeMap<u64, u64>;

const SHARES: [f64; 4] = [0.5, 0.9, 0.99, 1.0];

/// Of all that was measured; nothing, if nothing was. What it gives was measured: nothing is made up between two.
#[must_use]
#[allow(
    clippy::cast_precision_loss,
    clippy::cast_possible_truncation,
    clippy::cast_sign_loss,
    reason = "it is a place in a row"
)]
pub fn of_samples(what: &str, cause: &str, samples: &[f64]) -> Option<Row> {
    let mut sorted: Vec<f64> = samples.iter().copied().filter(|sample| sample.is_finite()).collect();
    sorted.sort_unstable_by(f64::total_cmp);
    let at = |share: f64| {
        let place = (share * sorted.len() as f64).ceil() as usize;
        sorted.get(place.max(1) - 1).copied()
    };
    let [p50, p90, p99, most] = SHARES.map(at);
    Some(Row {
        what: what.into(),
        cause: cause.into(),
        count: sorted.len() as u64,
        seconds: [p50?, p90?, p99?, most?],
    })
}

/// Of what was counted: between two bounds as if all were spread evenly. Bounds are in microseconds; `u64::MAX` has none, and is told as the last
/// that has one.
#[must_use]
#[allow(clippy::cast_precision_loss, reason = "they are told with few digits")]
pub fn of_buckets(what: &str, cause: &str, buckets: &Buckets) -> Option<Row> {
    let count = *buckets.get(&u64::MAX)?;
    if count == 0 {
        return None;
    }
    let at = |share: f64| {
        let wanted = share * count as f64;
        let (mut below, mut before) = (0.0, 0.0);
        for (bound, up_to) in buckets {
            let up_to = *up_to as f64;
            if up_to >= wanted && up_to > before {
                if *bound == u64::MAX {
                    return below;
                }
                let bound = *bound as f64 / 1e6;
                return below + (bound - below) * (wanted - before) / (up_to - before);
            }
            if *bound != u64::MAX {
                below = *bound as f64 / 1e6;
            }
            before = up_to;
        }
        below
    };
    Some(Row { what: what.into(), cause: cause.into(), count, seconds: SHARES.map(at) })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn of_what_was_measured_it_gives_what_was_measured() {
        let samples: Vec<f64> = (1..=100).rev().map(f64::from).collect();
        assert_eq!(of_samples("x", "na", &samples).unwrap().seconds, [50.0, 90.0, 99.0, 100.0]);
        assert_eq!(of_samples("x", "na", &[7.0]).unwrap().seconds, [7.0; 4]);
        assert_eq!(of_samples("x", "na", &[]), None);
        assert_eq!(of_samples("x", "na", &[f64::NAN]), None);
    }

    #[test]
    fn of_what_was_counted_it_gives_what_lies_between_the_bounds() {
        let buckets = Buckets::from([(1_000_000, 50), (2_000_000, 90), (4_000_000, 100), (u64::MAX, 100)]);
        let row = of_buckets("x", "na", &buckets).unwrap();
        assert_eq!((row.count, row.seconds), (100, [1.0, 2.0, 3.8, 4.0]));
        let beyond = Buckets::from([(1_000_000, 1), (u64::MAX, 2)]);
        assert_eq!(of_buckets("x", "na", &beyond).unwrap().seconds, [1.0; 4]);
        assert_eq!(of_buckets("x", "na", &Buckets::from([(u64::MAX, 0)])), None);
    }
}
