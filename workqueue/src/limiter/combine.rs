//! Limiters made of limiters.

use super::{Ask, Charge, Delay, LimiterError, RateLimiter};
use std::time::Duration;

/// The longest delay of several. Only the limiter whose delay it is gives a token away, so a bucket that does not
/// decide is not charged.
pub struct MaxOf(Vec<Box<dyn RateLimiter>>);

impl MaxOf {
    /// The longest of `limiters`.
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
    fn look(&self, ask: &Ask) -> Duration {
        self.0.iter().map(|limiter| limiter.look(ask)).max().unwrap_or_default()
    }

    fn take(&mut self, ask: &Ask) -> Delay {
        let mut before = 0;
        let mut longest = (0, 0, Duration::ZERO);
        for (index, limiter) in self.0.iter().enumerate() {
            let wait = limiter.look(ask);
            // At equal delays the later one decides, so that a full bucket at the end of the list still counts.
            if wait >= longest.2 {
                longest = (index, before, wait);
            }
            before += limiter.buckets();
        }
        let (index, before, _) = longest;
        let delay = self.0[index].take(ask);
        let charge = delay.charge.and_then(|Charge(own)| u8::try_from(before + usize::from(own)).ok());
        Delay { wait: delay.wait, charge: charge.map(Charge) }
    }

    fn refund(&mut self, Charge(mut number): Charge) {
        for limiter in &mut self.0 {
            let buckets = limiter.buckets();
            if usize::from(number) < buckets {
                return limiter.refund(Charge(number));
            }
            number = number.saturating_sub(u8::try_from(buckets).unwrap_or(u8::MAX));
        }
    }

    fn buckets(&self) -> usize {
        self.0.iter().map(|limiter| limiter.buckets()).sum()
    }
}

/// Another limiter's delay, cut at a maximum.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct MaxWait<L> {
    /// The limiter that decides up to the maximum.
    pub limiter: L,
    /// The longest delay it may give.
    pub max: Duration,
}

impl<L: RateLimiter> RateLimiter for MaxWait<L> {
    fn look(&self, ask: &Ask) -> Duration {
        self.limiter.look(ask).min(self.max)
    }

    fn take(&mut self, ask: &Ask) -> Delay {
        if self.limiter.look(ask) > self.max {
            return Delay { wait: self.max, charge: None };
        }
        self.limiter.take(ask)
    }

    fn refund(&mut self, charge: Charge) {
        self.limiter.refund(charge);
    }

    fn buckets(&self) -> usize {
        self.limiter.buckets()
    }
}

#[cfg(test)]
mod tests {
    use super::super::{Exponential, FastSlow, TokenBucket};
    use super::*;

    fn ask(attempt: u16) -> Ask {
        Ask { attempt, now: Duration::ZERO, chance: 0 }
    }

    fn constant(millis: u64) -> FastSlow {
        FastSlow { fast: Duration::from_millis(millis), slow: Duration::from_millis(millis), tries: 0 }
    }

    /// client-go: `TestMaxOfRateLimiter`.
    #[test]
    fn the_longest_decides() {
        let slow = FastSlow { fast: Duration::from_millis(5), slow: Duration::from_secs(3), tries: 3 };
        let exponential = Exponential::new(Duration::from_millis(1), Duration::from_secs(1)).unwrap();
        let exponential = exponential.jitter(0.0).unwrap();
        let mut both = MaxOf::new(vec![Box::new(slow), Box::new(exponential)]).unwrap();
        let millis: Vec<_> = (1..=5).map(|n| both.take(&ask(n)).wait.as_millis()).collect();
        assert_eq!(millis, [5, 5, 5, 3000, 3000]);
    }

    /// client-go: `TestWithMaxWaitRateLimiter`.
    #[test]
    fn no_wait_is_above_the_maximum() {
        let exponential = Exponential::new(Duration::from_millis(1), Duration::from_secs(1000)).unwrap();
        let mut cut = MaxWait { limiter: exponential.jitter(0.0).unwrap(), max: Duration::from_millis(5) };
        let millis: Vec<_> = (1..=4).map(|n| cut.take(&ask(n)).wait.as_millis()).collect();
        assert_eq!(millis, [1, 2, 4, 5]);
    }

    #[test]
    fn a_charge_goes_back_to_the_bucket_it_came_from() {
        let bucket = |rate| Box::new(TokenBucket::new(rate, 1).unwrap()) as Box<dyn RateLimiter>;
        let inner = MaxOf::new(vec![bucket(1000.0), bucket(10.0)]).unwrap();
        let mut outer = MaxOf::new(vec![bucket(1000.0), Box::new(inner), Box::new(constant(0))]).unwrap();
        assert_eq!(outer.buckets(), 3);

        // All are full at first, and equal delays are the last limiter's: nobody is charged.
        assert_eq!(outer.take(&ask(1)), Delay { wait: Duration::ZERO, charge: None });
        let mut outer = MaxOf(outer.0.into_iter().take(2).collect());
        let charges: Vec<_> = (0..3).map(|_| outer.take(&ask(1))).collect();
        let slow = Some(Charge(2));
        assert_eq!(charges.iter().map(|delay| delay.charge).collect::<Vec<_>>(), [slow, slow, slow]);
        assert_eq!(charges[2].wait, Duration::from_millis(200));
        outer.refund(Charge(2));
        assert_eq!(outer.look(&ask(1)), Duration::from_millis(200));
    }

    #[test]
    fn absurd_combinations_are_refused() {
        assert!(matches!(MaxOf::new(vec![]), Err(LimiterError::NothingToCombine)));
        let many = (0..300).map(|_| Box::new(TokenBucket::new(1.0, 1).unwrap()) as Box<dyn RateLimiter>);
        assert!(matches!(MaxOf::new(many.collect()), Err(LimiterError::TooManyBuckets(300))));
    }
}
