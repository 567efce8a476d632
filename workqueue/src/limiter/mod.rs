//! Rate limiters: policies for the delay of a retry, which can be combined.
//!
//! A limiter keeps no table of keys: failures are counted in the key's entry in the queue and
//! removed with it. So nothing leaks, and a merged add is not counted as a failure.

mod bucket;
mod combine;
mod exponential;
mod fast_slow;

pub use bucket::TokenBucket;
pub use combine::{MaxOf, MaxWait};
pub use exponential::Exponential;
pub use fast_slow::FastSlow;

use std::time::Duration;

/// The state of a failed key from which a limiter computes its delay.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct RetryContext {
    /// Number of failed runs of this key in a row, this one included: 1 or more.
    pub attempt: u16,
    /// The time since the queue was created. Never decreases.
    pub now: Duration,
    /// Random bits, for jitter.
    pub chance: u64,
}

/// The delay of a retry.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Delay {
    /// Time until the key is ready again.
    pub wait: Duration,
    /// The token taken for it, if the limiter has a bucket.
    pub reservation: Option<Reservation>,
}

/// A token taken from one bucket of a limiter. The queue passes it to [`RateLimiter::refund`] if
/// the wait is cut short.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Reservation(u8);

impl Reservation {
    /// The reservation of a limiter with one bucket.
    pub const ONLY: Self = Self(0);

    pub(crate) const fn to_bits(this: Option<Self>) -> u8 {
        match this {
            Some(Self(number)) => number + 1,
            None => 0,
        }
    }

    pub(crate) const fn from_bits(bits: u8) -> Option<Self> {
        match bits {
            0 => None,
            bits => Some(Self(bits - 1)),
        }
    }
}

/// Decides the delay of a retry (client-go: `TypedRateLimiter`).
///
/// Called under the queue's lock: it must not block or call the queue. A wait of zero retries at
/// once.
pub trait RateLimiter: Send {
    /// Returns the delay without taking a token.
    fn peek(&self, context: &RetryContext) -> Duration;

    /// Returns the delay and takes a token if the limiter has a bucket.
    fn take(&mut self, context: &RetryContext) -> Delay {
        Delay { wait: self.peek(context), reservation: None }
    }

    /// Returns the token of `reservation` to its bucket, because the wait was cut short.
    fn refund(&mut self, reservation: Reservation) {
        let _ = reservation;
    }

    /// Returns the number of buckets; reservations are numbered below it. At most 255 per queue.
    fn buckets(&self) -> usize {
        0
    }
}

/// An invalid setting, and how to correct it.
#[derive(Clone, Debug, PartialEq, thiserror::Error)]
#[non_exhaustive]
pub enum LimiterError {
    /// The base delay is under a microsecond: every failure would be retried at once, forever.
    #[error("the base delay is under a microsecond; give at least one")]
    NoBase,
    /// The cap is below the first delay.
    #[error("the longest delay ({cap:?}) is below the first ({base:?}); exchange them, or raise the longest")]
    CapBelowBase {
        /// The first delay.
        base: Duration,
        /// The cap.
        cap: Duration,
    },
    /// The jitter is not within 0.0 to 1.0.
    #[error("jitter is {0}; it is a share of the delay, 0.0 to 1.0")]
    JitterOutOfRange(f64),
    /// The rate is not a finite number above zero.
    #[error("the rate is {0} per second; give a number above 0 and at most 1000000")]
    BadRate(f64),
    /// The burst is zero: the bucket holds no token.
    #[error("the burst is 0; a bucket that holds no token never gives one")]
    NoBurst,
    /// The list of limiters is empty.
    #[error("a MaxOf of no limiter has no delay; give it at least one")]
    NothingToCombine,
    /// There are more buckets than reservations can number.
    #[error("{0} buckets in one limiter; at most 255 are supported")]
    TooManyBuckets(usize),
}
