//! Limiters composed of other limiters.

use super::{Delay, LimiterError, RateLimiter, Reservation, RetryContext};
use std::time::Duration;

/// The longest delay of several limiters (client-go: `TypedMaxOfRateLimiter`).
///
/// Only the limiter with that delay takes a token, so a
/// bucket that does not decide is not charged.
pub struct MaxOf(Vec<Box<dyn RateLimiter>>);

impl MaxOf {
    /// Combines `limiters`.
    ///
    /// # Errors
    /// If there are none, or more than 255 buckets among them.
    pub fn new(limiters: Vec<Box<dyn RateLimiter>>) -> Result<Self, LimiterError> {
        if limiters.is_empty() {
            return Err(LimiterError::NothingToCombine);
        }
        let combined = Self(limiters);
        match combined.buckets() {
            0..=255 => Ok(combined),
            buckets => Err(LimiterError::TooManyBuckets(buckets)),
        }
    }
}

impl RateLimiter for MaxOf {
    fn peek(&self, context: &RetryContext) -> Duration {
        self.0.iter().map(|limiter| limiter.peek(context)).max().unwrap_or_default()
    }

    fn take(&mut self, context: &RetryContext) -> Delay {
        let mut before = 0;
        let mut longest = (0, 0, Duration::ZERO);
        for (index, limiter) in self.0.iter().enumerate() {
            let wait = limiter.peek(context);
            // At equal delays the later one decides, so that a full bucket at the end of the list
            // still counts.
            if wait >= longest.2 {
                longest = (index, before, wait);
            }
            before += limiter.buckets();
        }
        let (index, before, _) = longest;
        let delay = self.0[index].take(context);
        let reservation =
            delay.reservation.and_then(|Reservation(own)| u8::try_from(before + usize::from(own)).ok());
        Delay { wait: delay.wait, reservation: reservation.map(Reservation) }
    }

    fn refund(&mut self, Reservation(mut number): Reservation) {
        for limiter in &mut self.0 {
            let buckets = limiter.buckets();
            if usize::from(number) < buckets {
                return limiter.refund(Reservation(number));
            }
            number = number.saturating_sub(u8::try_from(buckets).unwrap_or(u8::MAX));
        }
    }

    fn buckets(&self) -> usize {
        self.0.iter().map(|limiter| limiter.buckets()).sum()
    }
}

/// Clamps the delay of another limiter to a maximum (client-go: `TypedWithMaxWaitRateLimiter`).
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct MaxWait<L> {
    /// The limiter that decides up to the maximum.
    pub limiter: L,
    /// The maximum delay.
    pub max: Duration,
}

impl<L: RateLimiter> RateLimiter for MaxWait<L> {
    fn peek(&self, context: &RetryContext) -> Duration {
        self.limiter.peek(context).min(self.max)
    }

    fn take(&mut self, context: &RetryContext) -> Delay {
        // A clamped delay takes no token, or the debt of the bucket would grow without bound.
        if self.limiter.peek(context) > self.max {
            return Delay { wait: self.max, reservation: None };
        }
        self.limiter.take(context)
    }

    fn refund(&mut self, reservation: Reservation) {
        self.limiter.refund(reservation);
    }

    fn buckets(&self) -> usize {
        self.limiter.buckets()
    }
}

#[cfg(test)]
mod tests {
    use super::super::{Exponential, FastSlow, TokenBucket};
    use super::*;

    fn context(attempt: u16) -> RetryContext {
        RetryContext { attempt, now: Duration::ZERO, chance: 0 }
    }

    fn constant(millis: u64) -> FastSlow {
        FastSlow { fast: Duration::from_millis(millis), slow: Duration::from_millis(millis), tries: 0 }
    }

    /// client-go: `TestMaxOfRateLimiter`.
    #[test]
    fn max_of_returns_the_longest_delay() {
        let slow = FastSlow { fast: Duration::from_millis(5), slow: Duration::from_secs(3), tries: 3 };
        let exponential = Exponential::new(Duration::from_millis(1), Duration::from_secs(1)).unwrap();
        let exponential = exponential.jitter(0.0).unwrap();
        let mut both = MaxOf::new(vec![Box::new(slow), Box::new(exponential)]).unwrap();
        let millis: Vec<_> = (1..=5).map(|n| both.take(&context(n)).wait.as_millis()).collect();
        assert_eq!(millis, [5, 5, 5, 3000, 3000]);
    }

    /// client-go: `TestWithMaxWaitRateLimiter`.
    #[test]
    fn no_wait_is_above_the_maximum() {
        let exponential = Exponential::new(Duration::from_millis(1), Duration::from_secs(1000)).unwrap();
        let mut cut = MaxWait { limiter: exponential.jitter(0.0).unwrap(), max: Duration::from_millis(5) };
        let millis: Vec<_> = (1..=4).map(|n| cut.take(&context(n)).wait.as_millis()).collect();
        assert_eq!(millis, [1, 2, 4, 5]);
    }

    #[test]
    fn a_reservation_is_refunded_to_its_own_bucket() {
        let bucket = |rate| Box::new(TokenBucket::new(rate, 1).unwrap()) as Box<dyn RateLimiter>;
        let inner = MaxOf::new(vec![bucket(1000.0), bucket(10.0)]).unwrap();
        let mut outer = MaxOf::new(vec![bucket(1000.0), Box::new(inner), Box::new(constant(0))]).unwrap();
        assert_eq!(outer.buckets(), 3);

        // All buckets are full at first, and at equal delays the last limiter decides: no bucket is
        // charged.
        assert_eq!(outer.take(&context(1)), Delay { wait: Duration::ZERO, reservation: None });
        let mut outer = MaxOf(outer.0.into_iter().take(2).collect());
        let reservations: Vec<_> = (0..3).map(|_| outer.take(&context(1))).collect();
        let slow = Some(Reservation(2));
        assert_eq!(
            reservations.iter().map(|delay| delay.reservation).collect::<Vec<_>>(),
            [slow, slow, slow]
        );
        assert_eq!(reservations[2].wait, Duration::from_millis(200));
        outer.refund(Reservation(2));
        assert_eq!(outer.peek(&context(1)), Duration::from_millis(200));
    }

    #[test]
    fn absurd_combinations_are_refused() {
        assert!(matches!(MaxOf::new(vec![]), Err(LimiterError::NothingToCombine)));
        let many = (0..300).map(|_| Box::new(TokenBucket::new(1.0, 1).unwrap()) as Box<dyn RateLimiter>);
        assert!(matches!(MaxOf::new(many.collect()), Err(LimiterError::TooManyBuckets(300))));
    }
}
