//! Settings of a queue, their defaults and limits.

use crate::limiter::{Exponential, RateLimiter};
use crate::work::DeadLetter;
use std::fmt;
use std::num::NonZeroU16;
use std::time::Duration;

/// The longest delay. Longer ones are clamped to it.
pub const MAX_DELAY: Duration = Duration::from_secs(365 * 24 * 3600);

/// The settings of a queue. Every field has a default that suits a controller.
pub struct Config<K> {
    /// Maximum number of keys in the queue, in all states together. Default: 1 048 576.
    ///
    /// An add beyond it is refused and returns the key. Retries are never refused.
    pub capacity: usize,
    /// Delay of a failed key. Default: [`Exponential::DEFAULT`].
    pub backoff: Box<dyn RateLimiter>,
    /// Number of failures in a row after which a key becomes a dead letter. Default: unlimited.
    pub max_tries: Option<NonZeroU16>,
    /// Hook for dead letters, called outside the queue's lock. Default: none; they are only
    /// counted.
    pub dead_letter: Option<DeadLetterHook<K>>,
    /// Debounces plain adds. Default: off.
    pub debounce: Option<Debounce>,
    /// Waiting time that makes up for one level of [`crate::Priority`]. Default: 1 s.
    ///
    /// So a key of [`crate::Priority::LOW`] precedes keys of normal priority that were added 10 s
    /// later.
    pub aging: Duration,
    /// Returns the tenant of a key; tenants of one priority take turns. Default: one tenant, first
    /// in, first out.
    ///
    /// Two tenants with the same number share a turn. [`tenant_of`] makes a number from a name.
    pub tenants: Option<TenantOf<K>>,
    /// Seed of the hash table and of jitter, and in a controller of trace ids. Default: from the
    /// operating system. Set it to replay a run.
    pub seed: Option<u64>,
}

/// Receives each key that failed [`Config::max_tries`] times in a row.
pub type DeadLetterHook<K> = Box<dyn Fn(DeadLetter<K>) + Send + Sync>;

/// Returns the tenant of a key. Called without the queue's lock.
pub type TenantOf<K> = Box<dyn Fn(&K) -> u32 + Send + Sync>;

/// Returns the number of a tenant name.
pub fn tenant_of(name: &str) -> u32 {
    // FNV-1a: stable across runs, and a collision only makes two tenants share a turn.
    name.bytes().fold(0x811c_9dc5, |hash, byte| (hash ^ u32::from(byte)).wrapping_mul(0x0100_0193))
}

impl<K> Default for Config<K> {
    fn default() -> Self {
        Self {
            capacity: 1 << 20,
            backoff: Box::new(Exponential::DEFAULT),
            max_tries: None,
            dead_letter: None,
            debounce: None,
            aging: Duration::from_secs(1),
            tenants: None,
            seed: None,
        }
    }
}

impl<K> Config<K> {
    pub(crate) fn check(&self) -> Result<(), ConfigError> {
        match self.capacity {
            0 => return Err(ConfigError::NoCapacity),
            more if more > MAX_CAPACITY => return Err(ConfigError::CapacityTooLarge(more)),
            _ => {}
        }
        if !(Duration::from_millis(1)..=MAX_AGING).contains(&self.aging) {
            return Err(ConfigError::AgingOutOfRange(self.aging));
        }
        Ok(())
    }
}

/// Slots are numbered in 32 bits, and a few numbers are reserved.
const MAX_CAPACITY: usize = 1 << 31;
/// 63 levels of it fit the arithmetic of standings with margin.
const MAX_AGING: Duration = Duration::from_secs(24 * 3600);

impl<K> fmt::Debug for Config<K> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Config")
            .field("capacity", &self.capacity)
            .field("max_tries", &self.max_tries)
            .field("debounce", &self.debounce)
            .field("aging", &self.aging)
            .field("seed", &self.seed)
            .finish_non_exhaustive()
    }
}

/// Waits until changes of a key pause, at most a maximum time.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Debounce {
    quiet: Duration,
    max_wait: Duration,
}

impl Debounce {
    /// Creates a debounce that runs a key once no add has followed for `quiet`, at the latest
    /// `max_wait` after the first add.
    ///
    /// # Errors
    /// If `quiet` is longer than `max_wait`, which would then be the quiet time.
    pub fn new(quiet: Duration, max_wait: Duration) -> Result<Self, ConfigError> {
        if max_wait < quiet {
            return Err(ConfigError::MaxWaitBelowQuiet { quiet, max_wait });
        }
        Ok(Self { quiet, max_wait })
    }

    /// Returns the time without adds after which the key runs.
    pub fn quiet(&self) -> Duration {
        self.quiet
    }

    /// Returns the longest time that a key is held back.
    pub fn max_wait(&self) -> Duration {
        self.max_wait
    }
}

/// An invalid setting, and how to correct it.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum ConfigError {
    /// The capacity is zero.
    #[error("capacity is 0, so every add would be refused; give at least 1")]
    NoCapacity,
    /// The capacity exceeds the number of slots of a queue.
    #[error("capacity is {0}; at most {MAX_CAPACITY} keys are supported")]
    CapacityTooLarge(usize),
    /// The aging is too short to have an effect, or overflows the arithmetic.
    #[error(
        "aging is {0:?} a level; give 1 ms (nearly first come first served) to 24 h (nearly strict priorities)"
    )]
    AgingOutOfRange(Duration),
    /// The maximum wait would always end the debounce.
    #[error(
        "the maximum wait ({max_wait:?}) is below the quiet time ({quiet:?}); exchange them, or raise the maximum"
    )]
    MaxWaitBelowQuiet {
        /// The quiet time.
        quiet: Duration,
        /// The maximum wait.
        max_wait: Duration,
    },
    /// There are no workers.
    #[error("0 workers would never take a key; give at least 1")]
    NoWorkers,
    /// There are too many workers; each is a task.
    #[error("{0} workers; at most 65536, each is a task")]
    TooManyWorkers(usize),
    /// There is no tokio runtime on this thread, or its timers are disabled.
    #[error(
        "no tokio runtime with time enabled on this thread; call from inside one, or use `Queue::manual` and turn the clock yourself"
    )]
    NoRuntime,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn absurd_settings_are_refused_and_the_default_is_not() {
        fn check(change: impl FnOnce(&mut Config<u8>), expect: Result<(), ConfigError>) {
            let mut config = Config::default();
            change(&mut config);
            assert_eq!(config.check(), expect);
        }
        let (ms, day) = (Duration::from_millis(1), Duration::from_secs(24 * 3600));
        check(|_| {}, Ok(()));
        check(|config| config.capacity = 0, Err(ConfigError::NoCapacity));
        check(|config| config.capacity = usize::MAX, Err(ConfigError::CapacityTooLarge(usize::MAX)));
        check(|config| config.aging = Duration::ZERO, Err(ConfigError::AgingOutOfRange(Duration::ZERO)));
        check(|config| config.aging = Duration::MAX, Err(ConfigError::AgingOutOfRange(Duration::MAX)));
        assert_eq!(Debounce::new(day, ms), Err(ConfigError::MaxWaitBelowQuiet { quiet: day, max_wait: ms }));
        assert!(Debounce::new(ms, ms).is_ok());
    }

    #[test]
    fn a_tenants_number_depends_on_its_name_alone() {
        assert_eq!(tenant_of("blue"), tenant_of("blue"));
        assert_ne!(tenant_of("blue"), tenant_of("green"));
    }
}
