//! When a load does what.

use std::time::Duration;

/// How operations are spread over time.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Spread {
    /// At equal distances.
    Steady,
    /// As if many did them who know nothing of each other.
    Poisson,
}

/// No distance is longer than so many average ones.
const LONGEST: f64 = 1000.0;

/// When each of so many operations is due, from the beginning on, at so many a second. Chance is asked for a number from 0 up to 1 for each
/// distance that it spreads.
///
/// A rate that is not above zero makes all due at once.
#[must_use]
pub fn due_times(spread: Spread, rate: f64, count: usize, mut chance: impl FnMut() -> f64) -> Vec<Duration> {
    let average = if rate > 0.0 { 1.0 / rate } else { 0.0 };
    let mut at = 0.0;
    let next = |_| {
        at += match spread {
            Spread::Steady => average,
            Spread::Poisson => average * (-(1.0 - chance().clamp(0.0, 1.0)).ln()).min(LONGEST),
        };
        // Further away than anything is due.
        Duration::try_from_secs_f64(at).unwrap_or(Duration::MAX)
    };
    (0..count).map(next).collect()
}

/// Which of so many threads does an operation; of no threads, the first.
#[must_use]
pub fn thread_of(operation: usize, threads: usize) -> usize {
    operation % threads.max(1)
}

/// The number in the name of an attachment in a slot of a network, from 0, as it is used for the so-manyth time, from 0: no two of a network
/// share one.
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
        assert_eq!(milliseconds(Spread::Steady, 10.0, &[]), [100, 200, 300]);
        assert_eq!(milliseconds(Spread::Poisson, 10.0, &[0.0, 0.5, 1.0]), [0, 69, 100_069]);
        assert_eq!(milliseconds(Spread::Steady, 0.0, &[]), [0, 0, 0]);
        assert_eq!(due_times(Spread::Steady, f64::MIN_POSITIVE, 1, || 0.0), [Duration::MAX]);
    }

    #[test]
    fn operations_are_dealt_out() {
        assert_eq!([0, 1, 2, 3, 4].map(|operation| thread_of(operation, 3)), [0, 1, 2, 0, 1]);
        assert_eq!(thread_of(7, 0), 0);
        assert_eq!(
            [number_of(0, 0, 3), number_of(2, 0, 3), number_of(0, 1, 3), number_of(2, 2, 3)],
            [0, 2, 3, 8]
        );
    }
}
