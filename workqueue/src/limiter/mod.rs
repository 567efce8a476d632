//! How long a failed key waits: policies that combine.
//!
//! A limiter answers a question and keeps no table of keys: failures are counted in the key's own entry, which ends
//! with it. Nothing leaks, and an add that is merged away counts for nothing.

mod bucket;
mod combine;
mod exponential;
mod fast_slow;

pub use bucket::TokenBucket;
pub use combine::{MaxOf, MaxWait};
pub use exponential::Exponential;
pub use fast_slow::FastSlow;

use std::time::Duration;

/// A failed key's question: how long now?
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct RetryContext {
    /// How many runs of this key have failed in a row, this one included: 1 or more.
    pub attempt: u16,
    /// The time since the queue began. Never goes back.
    pub now: Duration,
    /// Random bits, for jitter.
    pub chance: u64,
}

/// The answer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Delay {
    /// How long the key waits.
    pub wait: Duration,
    /// The token that was given for it, if a bucket gave one.
    pub reservation: Option<Reservation>,
}

/// A token given by some bucket of a limiter. It comes back through [`RateLimiter::refund`] if the wait is cut short.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Reservation(u8);

impl Reservation {
    /// The charge of a limiter that has one bucket.
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

/// A policy of retries.
///
/// Called under the queue's lock: it must not block, and must not call the queue. A wait of zero is a retry at once.
pub trait RateLimiter: Send {
    /// How long the key would wait. Gives no token away.
    fn peek(&self, context: &RetryContext) -> Duration;

    /// How long the key waits. A limiter with a bucket gives a token away and says so.
    fn take(&mut self, context: &RetryContext) -> Delay {
        Delay { wait: self.peek(context), reservation: None }
    }

    /// The wait that `charge` was given for was cut short: the token is free again.
    fn refund(&mut self, reservation: Reservation) {
        let _ = reservation;
    }

    /// How many buckets it has; charges are numbered below that. At most 255 are told apart in one queue.
    fn buckets(&self) -> usize {
        0
    }
}

/// A setting that makes no sense, and what to change.
#[derive(Clone, Debug, PartialEq, thiserror::Error)]
#[non_exhaustive]
pub enum LimiterError {
    /// The first delay is no delay: every failure would be retried at once, for ever.
    #[error("the base delay is under a microsecond; give at least one")]
    NoBase,
    /// The cap is below the first delay.
    #[error("the longest delay ({cap:?}) is below the first ({base:?}); exchange them, or raise the longest")]
    CapBelowBase {
        /// The first delay.
        base: Duration,
        /// The longest.
        cap: Duration,
    },
    /// Jitter is a share.
    #[error("jitter is {0}; it is a share of the delay, 0.0 to 1.0")]
    JitterOutOfRange(f64),
    /// A rate must be a finite number above zero.
    #[error("the rate is {0} per second; give a number above 0 and at most 1000000")]
    BadRate(f64),
    /// A bucket that holds no token gives none.
    #[error("the burst is 0; a bucket that holds no token never gives one")]
    NoBurst,
    /// There is nothing to take the longest of.
    #[error("a MaxOf of no limiter has no delay; give it at least one")]
    NothingToCombine,
    /// More buckets than can be told apart.
    #[error("{0} buckets in one limiter; at most 255 can be told apart")]
    TooManyBuckets(usize),
}
