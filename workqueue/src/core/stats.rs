//! What is counted, as plain numbers under the queue's lock: counting costs an addition and no shared cache line.

/// What a queue has done since it began, and what it holds now. Durations are in microseconds.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct Stats {
    /// Keys that became ready, merged adds not counted.
    pub adds: u64,
    /// Adds merged into what was queued, delayed or to be run again.
    pub merged: u64,
    /// Keys handed out.
    pub handed_out: u64,
    /// Runs answered with a failure, or not at all.
    pub retries: u64,
    /// Runs dropped unanswered: a panic, an early return, an aborted task.
    pub abandoned: u64,
    /// Keys that failed as often as they may.
    pub dead_letters: u64,
    /// Adds refused for want of room.
    pub refused_full: u64,
    /// Adds refused because the queue was closed.
    pub refused_closed: u64,
    /// Runs taken back by a cancel.
    pub cancelled: u64,
    /// How long keys were ready before they were handed out.
    pub waited: Histogram,
    /// How long they were out, until they were held or answered.
    pub worked: Histogram,
    /// How long they were held.
    pub was_held: Histogram,

    /// Keys that are ready.
    pub ready: usize,
    /// Keys that are delayed.
    pub delayed: usize,
    /// Keys that are out, and not held.
    pub in_flight: usize,
    /// Keys that are held.
    pub held: usize,
    /// How long all keys that are out have been so, added up.
    pub unfinished_us: u64,
    /// How long the one that has been out longest is out.
    pub longest_us: u64,
}

/// How often a duration was at most 1 ms, 2 ms, 4 ms, up to 17 minutes.
///
/// The queue's time is coarse, so nothing finer would be true.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
#[repr(C)]
pub struct Histogram {
    // Beside the bucket of the shortest durations, which is the one that is used most.
    sum_us: u64,
    buckets: [u64; Histogram::BOUNDS + 1],
}

impl Histogram {
    /// How many bounds there are: 2^0 to 2^20 milliseconds.
    pub const BOUNDS: usize = 21;

    /// The bounds in seconds, each with how many durations were at most that (and above the bound before). The last
    /// is infinite.
    pub fn buckets(&self) -> impl Iterator<Item = (f64, u64)> + '_ {
        let bounds = (0..Self::BOUNDS).map(|i| f64::from(1_u32 << i) / 1000.0).chain([f64::MAX]);
        bounds.zip(self.buckets)
    }

    /// How many durations there were.
    pub fn count(&self) -> u64 {
        self.buckets.iter().sum()
    }

    /// All of them added up, in microseconds.
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
