//! Bounds of histograms.

/// Bounds for calls of a server, a switch or a disk: 50 µs to 20 s.
pub const CALLS: &[f64] = &[
    0.000_05, 0.000_1, 0.000_2, 0.000_5, 0.001, 0.002, 0.005, 0.01, 0.02, 0.05, 0.1, 0.2, 0.5, 1.0, 2.0, 5.0,
    10.0, 20.0,
];

/// Bounds for latencies between events, perhaps of different clocks: 500 µs to 500 s. Negative
/// latencies reveal a clock skew, and have bounds, too.
pub const END_TO_END: &[f64] = &[
    -1.0, -0.1, -0.01, 0.0, 0.000_5, 0.001, 0.002, 0.005, 0.01, 0.02, 0.05, 0.1, 0.2, 0.5, 1.0, 2.0, 5.0,
    10.0, 20.0, 50.0, 100.0, 200.0, 500.0,
];

/// Bounds for numbers of things: 0 to 10 000.
pub const COUNTS: &[f64] =
    &[0.0, 1.0, 2.0, 5.0, 10.0, 20.0, 50.0, 100.0, 200.0, 500.0, 1000.0, 2000.0, 5000.0, 10_000.0];

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::{Buckets, MetricSet, metrics, page_histograms, percentiles_of};

    metrics! {
        struct Latencies("test", "Tests") {
            /// A call
            call: seconds("call_seconds", [], CALLS);
            /// A latency
            end: seconds("end_seconds", [], END_TO_END);
        }
    }

    /// Observes samples, exposes them, and reads the buckets back.
    fn exposed(samples: &[f64]) -> Vec<Buckets> {
        let latencies = Latencies::default();
        let mut set = MetricSet::default();
        set.add(&latencies);
        for sample in samples {
            latencies.call.observe([], *sample);
            latencies.end.observe([], *sample);
        }
        page_histograms(&set.page()).into_iter().map(|histogram| histogram.buckets).collect()
    }

    #[test]
    fn p04_bounds_are_ordered_and_at_most_a_factor_of_2_5_apart() {
        for bounds in [CALLS, END_TO_END, COUNTS] {
            for pair in bounds.windows(2) {
                let [low, high] = pair else { panic!("a window of two") };
                assert!(low < high && (*low <= 0.0 || high / low < 2.51), "{low} {high}");
            }
        }
    }

    proptest! {
        #[test]
        fn p04_percentiles_are_within_a_factor_of_the_samples(
            // Exponents, so that every decade is as likely.
            exponents in prop::collection::vec(-3.3_f64..1.3, 1..50)
        ) {
            let samples: Vec<f64> = exponents.iter().map(|exponent| 10_f64.powf(*exponent)).collect();
            let expected = percentiles_of(&samples).unwrap();
            for buckets in exposed(&samples) {
                let found = buckets.percentiles().unwrap();
                for (found, expected) in found.iter().zip(expected) {
                    let factor = found / expected;
                    prop_assert!(factor < 2.51 && factor > 1.0 / 2.51, "{} {}", found, expected);
                }
            }
        }
    }
}
