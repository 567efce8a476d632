//! Limits and times of an actuator.

use std::time::Duration;

/// Limits and times of an [`Actuator`](super::Actuator).
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ActuatorSettings {
    /// Maximum number of items. Default: 262 144.
    pub items: usize,
    /// Maximum number of changes in one batch. Default: 1024.
    pub batch: usize,
    /// Maximum number of concurrent batches. A second one starts only when the first is slow, so
    /// that changes share batches. Default: 4.
    pub lanes: usize,
    /// Time after which a batch is slow: the next one no longer waits for it. Default: 1 s.
    pub slow_after: Duration,
    /// Maximum number of concurrent changes that are applied alone, because they were in a batch
    /// that hung or panicked. Default: 16.
    pub isolated: usize,
    /// Time without progress after which a call of the port is dropped. Default: 30 s.
    pub time_limit: Duration,
    /// First and longest back-off, of an item and of the port. Default: 100 ms and 10 s.
    pub backoff: (Duration, Duration),
    /// Interval of comparisons without a disturbance. Default: 10 min.
    pub interval: Duration,
    /// Least and longest time between a disturbance and the comparison. It is ten times as long as
    /// the last comparison. Default: 5 ms and 250 ms.
    pub settle: (Duration, Duration),
    /// Interval of searches for orphans. Default: 100 ms.
    pub orphan_interval: Duration,
}

impl Default for ActuatorSettings {
    fn default() -> Self {
        Self {
            items: 1 << 18,
            batch: 1024,
            lanes: 4,
            slow_after: Duration::from_secs(1),
            isolated: 16,
            time_limit: Duration::from_secs(30),
            backoff: (Duration::from_millis(100), Duration::from_secs(10)),
            interval: Duration::from_secs(600),
            settle: (Duration::from_millis(5), Duration::from_millis(250)),
            orphan_interval: Duration::from_millis(100),
        }
    }
}
