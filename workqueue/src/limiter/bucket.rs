//! A token bucket: limits the rate of retries over all keys.

use super::{Delay, LimiterError, RateLimiter, Reservation, RetryContext};
use std::time::Duration;

/// A token bucket that refills at a steady rate up to a burst (client-go:
/// `TypedBucketRateLimiter`). A retry takes a token, and waits for one if the bucket is empty.
///
/// Its only state is the time at which the bucket is full again: taking a token moves it one
/// interval later, a refund one earlier. The debt is thus bounded by one token per *waiting* key.
#[derive(Clone, Debug, PartialEq)]
pub struct TokenBucket {
    interval: Duration,
    burst: u32,
    full_at: Duration,
}

impl TokenBucket {
    /// Creates a full bucket of `burst` tokens that refills at `per_second`.
    ///
    /// # Errors
    /// If the rate is not a number above 0 and at most a million, or the burst is 0.
    pub fn new(per_second: f64, burst: u32) -> Result<Self, LimiterError> {
        if !(per_second > 0.0 && per_second <= 1e6) {
            return Err(LimiterError::BadRate(per_second));
        }
        if burst == 0 {
            return Err(LimiterError::NoBurst);
        }
        // A rate whose interval exceeds `Duration` is in effect "never", for which a century
        // stands.
        let interval = Duration::try_from_secs_f64(1.0 / per_second).unwrap_or(CENTURY).min(CENTURY);
        Ok(Self { interval, burst, full_at: Duration::ZERO })
    }
}

const CENTURY: Duration = Duration::from_secs(100 * 365 * 24 * 3600);

impl RateLimiter for TokenBucket {
    fn peek(&self, context: &RetryContext) -> Duration {
        let missing = self.full_at.saturating_sub(context.now);
        let saved_up = self.interval.saturating_mul(self.burst - 1);
        missing.saturating_sub(saved_up)
    }

    fn take(&mut self, context: &RetryContext) -> Delay {
        let wait = self.peek(context);
        self.full_at = self.full_at.max(context.now).saturating_add(self.interval);
        Delay { wait, reservation: Some(Reservation::ONLY) }
    }

    fn refund(&mut self, _: Reservation) {
        self.full_at = self.full_at.saturating_sub(self.interval);
    }

    fn buckets(&self) -> usize {
        1
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn at(millis: u64) -> RetryContext {
        RetryContext { attempt: 1, now: Duration::from_millis(millis), chance: 0 }
    }

    #[test]
    fn gives_its_burst_then_its_rate() {
        let mut bucket = TokenBucket::new(10.0, 3).unwrap();
        let mut waits = |now| bucket.take(&at(now)).wait.as_millis();
        assert_eq!([waits(0), waits(0), waits(0), waits(0), waits(0)], [0, 0, 0, 100, 200]);
        assert_eq!(waits(10_000), 0, "a long pause fills it");
    }

    #[test]
    fn a_refund_is_a_token_again() {
        let mut bucket = TokenBucket::new(1.0, 1).unwrap();
        bucket.take(&at(0));
        let charged = bucket.take(&at(0));
        assert_eq!(charged.wait, Duration::from_secs(1));
        bucket.refund(charged.reservation.unwrap());
        assert_eq!(bucket.peek(&at(0)), Duration::from_secs(1));
    }

    #[test]
    fn absurd_settings_are_refused() {
        for rate in [0.0, -1.0, f64::NAN, f64::INFINITY, 1e9] {
            assert!(matches!(TokenBucket::new(rate, 1), Err(LimiterError::BadRate(_))), "{rate}");
        }
        assert_eq!(TokenBucket::new(1.0, 0), Err(LimiterError::NoBurst));
        assert_eq!(TokenBucket::new(f64::MIN_POSITIVE, 1).unwrap().interval, CENTURY);
    }
}
