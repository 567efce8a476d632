//! Rows of percentiles.

use machinery::metrics::percentiles_of;

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

/// Returns the percentiles of samples, or `None` without samples.
#[must_use]
pub fn sample_percentiles(step: &str, cause: &str, samples: &[f64]) -> Option<LatencyRow> {
    let count = samples.iter().filter(|sample| sample.is_finite()).count() as u64;
    Some(LatencyRow { step: step.into(), cause: cause.into(), count, seconds: percentiles_of(samples)? })
}
