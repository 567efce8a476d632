//! Every setting, its default, and what is refused.

use crate::limiter::{Exponential, RateLimiter};
use crate::work::DeadLetter;
use std::fmt;
use std::num::NonZeroU16;
use std::time::Duration;

/// The longest delay there is. A longer one, from whomever, is cut to this.
pub const MAX_DELAY: Duration = Duration::from_secs(365 * 24 * 3600);

/// What a queue is made with. Every field has a default that a controller can live with.
pub struct Config<K> {
    /// How many keys may be in the queue at a time, in whatever state. Default: 1 048 576.
    ///
    /// An add beyond it is refused with the key. Keys that are in are never refused their retry.
    pub capacity: usize,
    /// How long a failed key waits. Default: [`Exponential::DEFAULT`].
    pub backoff: Box<dyn RateLimiter>,
    /// After how many failures in a row a key becomes a dead letter. Default: never.
    pub max_tries: Option<NonZeroU16>,
    /// Who hears of dead letters, outside the queue's lock. Default: nobody; they are counted.
    pub dead_letter: Option<DeadLetterHook<K>>,
    /// Makes plain adds wait for a quiet moment. Default: they do not.
    pub debounce: Option<Debounce>,
    /// How long a key must wait to make up for one level of [`crate::Priority`]. Default: 1 s.
    ///
    /// So a key of [`crate::Priority::LOW`] goes before keys of normal priority that came 10 s after it.
    pub aging: Duration,
    /// Whose key it is; tenants of one priority take turns. Default: one tenant, first come first served.
    ///
    /// Two tenants with the same number share a turn. [`tenant_of`] makes one from a name.
    pub tenants: Option<TenantOf<K>>,
    /// Where the hash table's seed and the jitter come from, and in a controller the ids of traces. Default: the operating system. Give one to replay a run.
    pub seed: Option<u64>,
}

/// Told of each key that failed [`Config::max_tries`] times in a row.
pub type DeadLetterHook<K> = Box<dyn Fn(DeadLetter<K>) + Send + Sync>;

/// Says whose key it is. Called without the queue's lock.
pub type TenantOf<K> = Box<dyn Fn(&K) -> u32 + Send + Sync>;

/// A number for a tenant's name.
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

/// Slots are numbered in 32 bits, and a few numbers have a meaning.
const MAX_CAPACITY: usize = 1 << 31;
/// 63 levels of it still fit the arithmetic of standings with room to spare.
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

/// Waits for a quiet moment, but not for ever.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Debounce {
    quiet: Duration,
    max_wait: Duration,
}

impl Debounce {
    /// Runs a key once nothing was added to it for `quiet`, at the latest `max_wait` after the first add.
    ///
    /// # Errors
    /// If `quiet` is longer than `max_wait`, which would then be the quiet time.
    pub fn new(quiet: Duration, max_wait: Duration) -> Result<Self, ConfigError> {
        if max_wait < quiet {
            return Err(ConfigError::MaxWaitBelowQuiet { quiet, max_wait });
        }
        Ok(Self { quiet, max_wait })
    }

    /// How long nothing must have come.
    pub fn quiet(&self) -> Duration {
        self.quiet
    }

    /// The longest that a key is held back.
    pub fn max_wait(&self) -> Duration {
        self.max_wait
    }
}

/// A setting that makes no sense, and what to change.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum ConfigError {
    /// A queue of no keys.
    #[error("capacity is 0, so every add would be refused; give at least 1")]
    NoCapacity,
    /// More keys than can be numbered.
    #[error("capacity is {0}; at most {MAX_CAPACITY} keys can be told apart")]
    CapacityTooLarge(usize),
    /// Aging that is no aging, or none that arithmetic can hold.
    #[error(
        "aging is {0:?} a level; give 1 ms (nearly first come first served) to 24 h (nearly strict priorities)"
    )]
    AgingOutOfRange(Duration),
    /// A debounce that would always end by its maximum.
    #[error(
        "the maximum wait ({max_wait:?}) is below the quiet time ({quiet:?}); exchange them, or raise the maximum"
    )]
    MaxWaitBelowQuiet {
        /// The quiet time.
        quiet: Duration,
        /// The maximum wait.
        max_wait: Duration,
    },
    /// Nobody would work.
    #[error("0 workers would never take a key; give at least 1")]
    NoWorkers,
    /// More workers than tasks make sense for.
    #[error("{0} workers; at most 65536, each is a task")]
    TooManyWorkers(usize),
    /// There is no tokio runtime here, or one without timers.
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
