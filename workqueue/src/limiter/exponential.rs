//! Exponential back-off with a cap and jitter.

use super::{LimiterError, RateLimiter, RetryContext};
use std::time::Duration;

/// A back-off of `base`, doubled with each failure in a row up to `cap`, less a random share so
/// that keys that failed together are not retried together (client-go:
/// `TypedItemExponentialFailureRateLimiter`).
#[derive(Clone, Debug, PartialEq)]
pub struct Exponential {
    base: Duration,
    cap: Duration,
    jitter: f64,
}

impl Exponential {
    /// 5 ms to 1000 s, the defaults of client-go, with a jitter of one half.
    pub const DEFAULT: Self =
        Self { base: Duration::from_millis(5), cap: Duration::from_secs(1000), jitter: 0.5 };

    /// Creates a back-off from `base` to `cap` with a jitter of 0.5.
    ///
    /// # Errors
    /// If `base` is under a microsecond, or above `cap`.
    pub fn new(base: Duration, cap: Duration) -> Result<Self, LimiterError> {
        if base < Duration::from_micros(1) {
            return Err(LimiterError::NoBase);
        }
        if cap < base {
            return Err(LimiterError::CapBelowBase { base, cap });
        }
        Ok(Self { base, cap, jitter: Self::DEFAULT.jitter })
    }

    /// Sets the jitter: a delay `d` becomes a random one from `d × (1 − share)` to `d`.
    ///
    /// # Errors
    /// If `share` is not within 0.0 to 1.0.
    pub fn jitter(self, share: f64) -> Result<Self, LimiterError> {
        match share {
            0.0..=1.0 => Ok(Self { jitter: share, ..self }),
            _ => Err(LimiterError::JitterOutOfRange(share)),
        }
    }

    fn full(&self, attempt: u16) -> Duration {
        let doublings = u32::from(attempt.saturating_sub(1));
        let factor = 1_u32.checked_shl(doublings);
        factor.and_then(|factor| self.base.checked_mul(factor)).map_or(self.cap, |delay| delay.min(self.cap))
    }
}

impl RateLimiter for Exponential {
    fn peek(&self, context: &RetryContext) -> Duration {
        #[expect(clippy::cast_precision_loss, reason = "53 random bits are plenty")]
        let chance = (context.chance >> 11) as f64 / (1_u64 << 53) as f64;
        let full = self.full(context.attempt);
        full.saturating_sub(full.mul_f64(self.jitter * chance))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn delay(limiter: &Exponential, attempt: u16, chance: u64) -> Duration {
        limiter.peek(&RetryContext { attempt, now: Duration::ZERO, chance })
    }

    /// client-go: `TestItemExponentialFailureRateLimiter`.
    #[test]
    fn doubles_up_to_the_cap() {
        let limiter = Exponential::new(Duration::from_millis(1), Duration::from_millis(10)).unwrap();
        let limiter = limiter.jitter(0.0).unwrap();
        let millis: Vec<_> = (1..=6).map(|n| delay(&limiter, n, u64::MAX).as_millis()).collect();
        assert_eq!(millis, [1, 2, 4, 8, 10, 10]);
    }

    /// client-go: `TestItemExponentialFailureRateLimiterOverFlow`.
    #[test]
    fn never_overflows() {
        let limiter = Exponential::new(Duration::from_secs(1), Duration::MAX).unwrap().jitter(0.0).unwrap();
        for attempt in 0..=u16::MAX {
            assert!(delay(&limiter, attempt, 0) >= Duration::from_secs(1));
        }
        assert_eq!(delay(&limiter, u16::MAX, 0), Duration::MAX);
        assert_eq!(delay(&limiter, 32, 0), Duration::from_secs(1 << 31));
    }

    #[test]
    fn jitter_takes_away_at_most_its_share() {
        let limiter = Exponential::new(Duration::from_secs(8), Duration::from_secs(8)).unwrap();
        assert_eq!(delay(&limiter, 1, 0), Duration::from_secs(8));
        assert_eq!(delay(&limiter, 1, 1 << 63), Duration::from_secs(6));
        let least = delay(&limiter, 1, u64::MAX);
        assert!(least >= Duration::from_secs(4) && least < Duration::from_millis(4001), "{least:?}");
    }

    #[test]
    fn absurd_settings_are_refused() {
        let (second, hour) = (Duration::from_secs(1), Duration::from_secs(3600));
        assert_eq!(Exponential::new(Duration::ZERO, hour), Err(LimiterError::NoBase));
        assert_eq!(Exponential::new(Duration::from_nanos(1), hour), Err(LimiterError::NoBase));
        assert_eq!(
            Exponential::new(hour, second),
            Err(LimiterError::CapBelowBase { base: hour, cap: second })
        );
        for share in [-0.1, 1.1, f64::NAN, f64::INFINITY] {
            assert!(matches!(Exponential::DEFAULT.jitter(share), Err(LimiterError::JitterOutOfRange(_))));
        }
    }
}
