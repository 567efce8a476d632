//! The times of a load's operations.

use std::time::Duration;

/// The distribution of operations over time.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Pacing {
    /// At equal intervals.
    Steady,
    /// As a Poisson process.
    Poisson,
}

/// Maximum interval, in average intervals.
const LONGEST: f64 = 1000.0;

/// Returns the due time of each of `count` operations, at `rate` per second. `chance` supplies a
/// number in [0, 1) per random interval.
///
/// With a rate that is not above zero all operations are due at once.
#[must_use]
pub fn due_times(spread: Pacing, rate: f64, count: usize, mut chance: impl FnMut() -> f64) -> Vec<Duration> {
    let average = if rate > 0.0 { 1.0 / rate } else { 0.0 };
    let mut at = 0.0;
    let next = |_| {
        at += match spread {
            Pacing::Steady => average,
            // The logarithm of zero is infinite, hence the bound.
            Pacing::Poisson => average * (-(1.0 - chance().clamp(0.0, 1.0)).ln()).min(LONGEST),
        };
        // Longer than any run.
        Duration::try_from_secs_f64(at).unwrap_or(Duration::MAX)
    };
    (0..count).map(next).collect()
}

/// Returns the thread of an operation; 0 without threads.
#[must_use]
pub fn thread_of(operation: usize, threads: usize) -> usize {
    operation % threads.max(1)
}

/// Returns the number in the name of an attachment, from its slot, the number of earlier uses of
/// the slot and the size of the network: unique within a network.
#[must_use]
pub const fn number_of(slot: u64, use_of_it: u64, size: u64) -> u64 {
    slot + use_of_it * size
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn operations_are_due_one_after_another() {
        let milliseconds = |spread, rate, chances: &[f64]| -> Vec<u128> {
            let mut chances = chances.iter().copied();
            let due = due_times(spread, rate, 3, || chances.next().unwrap());
            due.iter().map(Duration::as_millis).collect()
        };
        assert_eq!(milliseconds(Pacing::Steady, 10.0, &[]), [100, 200, 300]);
        assert_eq!(milliseconds(Pacing::Poisson, 10.0, &[0.0, 0.5, 1.0]), [0, 69, 100_069]);
        assert_eq!(milliseconds(Pacing::Steady, 0.0, &[]), [0, 0, 0]);
        assert_eq!(due_times(Pacing::Steady, f64::MIN_POSITIVE, 1, || 0.0), [Duration::MAX]);
    }

    #[test]
    fn operations_are_dealt_to_threads() {
        assert_eq!([0, 1, 2, 3, 4].map(|operation| thread_of(operation, 3)), [0, 1, 2, 0, 1]);
        assert_eq!(thread_of(7, 0), 0);
        assert_eq!(
            [number_of(0, 0, 3), number_of(2, 0, 3), number_of(0, 1, 3), number_of(2, 2, 3)],
            [0, 2, 3, 8]
        );
    }
}
