//! Delays between attempts to connect.

use std::time::Duration;

/// Doubles a delay up to a maximum.
#[derive(Debug)]
pub(super) struct Backoff {
    min: Duration,
    max: Duration,
    next: Duration,
}

impl Backoff {
    pub(super) const fn new(min: Duration, max: Duration) -> Self {
        Self { min, max, next: min }
    }

    /// Returns the delay before the next attempt.
    pub(super) fn next_delay(&mut self) -> Duration {
        let delay = self.next;
        self.next = delay.saturating_mul(2).min(self.max);
        delay
    }

    /// An attempt succeeded.
    pub(super) const fn reset(&mut self) {
        self.next = self.min;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn delays_double_up_to_the_maximum() {
        let mut backoff = Backoff::new(Duration::from_millis(50), Duration::from_millis(300));
        let delays = std::array::from_fn(|_| backoff.next_delay().as_millis());
        assert_eq!(delays, [50, 100, 200, 300, 300]);
        backoff.reset();
        assert_eq!(backoff.next_delay().as_millis(), 50);
    }
}
