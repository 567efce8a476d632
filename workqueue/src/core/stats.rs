//! Counters, as plain numbers under the queue's lock: counting costs an addition and no shared
//! cache line.

/// Counters since the queue was created, and its current sizes. Durations are in microseconds.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct Stats {
    /// Keys that became ready, without merged adds.
    pub adds: u64,
    /// Adds merged into a key that was queued, delayed or in flight.
    pub merged: u64,
    /// Keys handed out.
    pub handed_out: u64,
    /// Runs that failed or were abandoned.
    pub retries: u64,
    /// Runs dropped without completion: a panic, an early return, an aborted task.
    pub abandoned: u64,
    /// Keys that reached the limit of failures.
    pub dead_letters: u64,
    /// Adds refused because the queue was full.
    pub refused_full: u64,
    /// Adds refused because the queue was closed.
    pub refused_closed: u64,
    /// Queued runs removed by a cancel.
    pub cancelled: u64,
    /// Time that keys were ready before they were handed out.
    pub waited: Histogram,
    /// Time that keys were in flight until they were held or completed.
    pub worked: Histogram,
    /// Time that keys were held.
    pub was_held: Histogram,

    /// Ready keys.
    pub ready: usize,
    /// Delayed keys.
    pub delayed: usize,
    /// Keys in flight, without held ones.
    pub in_flight: usize,
    /// Held keys.
    pub held: usize,
    /// Sum of the times that the current keys have been in flight.
    pub unfinished_us: u64,
    /// Time of the key that has been in flight longest.
    pub longest_us: u64,
}

/// A histogram of durations, with bounds of 1 ms, 2 ms, 4 ms, up to 17 minutes.
///
/// The queue's time is coarse, so finer bounds would not be accurate.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
#[repr(C)]
pub struct Histogram {
    // Beside the bucket of the shortest durations, the most used one.
    sum_us: u64,
    buckets: [u64; Histogram::BOUNDS + 1],
}

impl Histogram {
    /// The number of bounds: 2^0 to 2^20 milliseconds.
    pub const BOUNDS: usize = 21;

    /// Returns the bounds in seconds, each with the number of durations up to it (and above the
    /// bound before). The last is infinite.
    pub fn buckets(&self) -> impl Iterator<Item = (f64, u64)> + '_ {
        let bounds = (0..Self::BOUNDS).map(|i| f64::from(1_u32 << i) / 1000.0).chain([f64::MAX]);
        bounds.zip(self.buckets)
    }

    /// Returns the number of durations.
    pub fn count(&self) -> u64 {
        self.buckets.iter().sum()
    }

    /// Returns the sum of all durations, in microseconds.
    pub fn sum_us(&self) -> u64 {
        self.sum_us
    }

    #[inline]
    pub(crate) fn record(&mut self, us: u64) {
        let bucket = match us {
            0..=1000 => 0,
            _ => (64 - (us.div_ceil(1000) - 1).leading_zeros() as usize).min(Self::BOUNDS),
        };
        self.buckets[bucket] += 1;
        self.sum_us = self.sum_us.saturating_add(us);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_duration_is_counted_under_the_first_bound_not_below_it() {
        let mut histogram = Histogram::default();
        for us in [0, 999, 1000, 1001, 2000, 2001, 4000, 1_048_576_000, 1_048_576_001, u64::MAX / 2] {
            histogram.record(us);
        }
        let buckets: Vec<(f64, u64)> = histogram.buckets().filter(|&(_, count)| count > 0).collect();
        assert_eq!(buckets, [(0.001, 3), (0.002, 2), (0.004, 2), (1048.576, 1), (f64::MAX, 2)]);
        assert_eq!(histogram.count(), 10);
    }
}
