//! A few fast retries, then slow ones.

use super::{RateLimiter, RetryContext};
use std::time::Duration;

/// A delay of `fast` for the first `tries` failures in a row, `slow` from then on (client-go:
/// `TypedItemFastSlowRateLimiter`).
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct FastSlow {
    /// Delay of the first failures.
    pub fast: Duration,
    /// Delay of the later failures.
    pub slow: Duration,
    /// Number of failures that are retried fast.
    pub tries: u16,
}

impl RateLimiter for FastSlow {
    fn peek(&self, context: &RetryContext) -> Duration {
        if context.attempt <= self.tries { self.fast } else { self.slow }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// client-go: `TestItemFastSlowRateLimiter`.
    #[test]
    fn slows_down_after_its_tries() {
        let limiter = FastSlow { fast: Duration::from_millis(5), slow: Duration::from_secs(10), tries: 3 };
        let waits =
            (1..=5).map(|attempt| limiter.peek(&RetryContext { attempt, now: Duration::ZERO, chance: 0 }));
        let (fast, slow) = (limiter.fast, limiter.slow);
        assert_eq!(waits.collect::<Vec<_>>(), [fast, fast, fast, slow, slow]);
    }
}
