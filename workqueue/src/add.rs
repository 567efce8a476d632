//! Options and result of an add.

use crate::core::{KeySource, Refusal};
use crate::{Cause, Debounce, Priority};
use std::time::Duration;

/// Options of an add: time, priority and cause. All of them merge with those of a queued key.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[must_use = "this only describes an add; give it to Queue::add_with"]
pub struct Add {
    pub(crate) when: When,
    pub(crate) priority: Priority,
    pub(crate) cause: Option<Cause>,
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) enum When {
    /// The configured debounce, or now.
    #[default]
    Configured,
    Now,
    After(Duration),
    Debounced(Debounce),
}

impl Add {
    /// Creates the options of [`crate::Queue::add`]: now (or debounced by
    /// [`crate::Config::debounce`]), normal priority, no cause.
    pub const fn new() -> Self {
        Self { when: When::Configured, priority: Priority::NORMAL, cause: None }
    }

    /// Queues the key at once, even if the queue debounces.
    pub const fn now(self) -> Self {
        Self { when: When::Now, ..self }
    }

    /// Queues the key after `delay`, unless an earlier time is set. Clamped to
    /// [`crate::MAX_DELAY`].
    pub const fn after(self, delay: Duration) -> Self {
        Self { when: When::After(delay), ..self }
    }

    /// Queues the key when no debounced add has followed for the quiet time, or after the maximum
    /// wait.
    pub const fn debounced(self, debounce: Debounce) -> Self {
        Self { when: When::Debounced(debounce), ..self }
    }

    /// Sets the priority. A queued key keeps the highest priority of its adds.
    pub const fn priority(self, priority: Priority) -> Self {
        Self { priority, ..self }
    }

    /// Sets the cause, which [`crate::Work::causes`] returns.
    pub const fn cause(self, cause: Cause) -> Self {
        Self { cause: Some(cause), ..self }
    }
}

impl When {
    /// Returns whether the key is ready at once, given whether the queue debounces.
    #[inline]
    pub(crate) fn is_now(self, debounces: bool) -> bool {
        match self {
            Self::Now | Self::After(Duration::ZERO) => true,
            Self::Configured => !debounces,
            Self::After(_) | Self::Debounced(_) => false,
        }
    }
}

/// The result of an add.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Added {
    /// The key was new; now it is queued or delayed.
    Queued,
    /// The key was queued or delayed already, and this add was merged into its entry.
    Merged,
    /// The key is in flight and is handed out again after its completion.
    Rerun,
}

/// The error of a refused add, which returns the key.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum AddError<K> {
    /// The queue is closed or draining.
    #[error("the queue is closed and takes no more keys")]
    Closed(K),
    /// The queue is at its capacity.
    #[error(
        "the queue holds {limit} keys, which is its capacity; add later, drop the key, or raise `Config::capacity`"
    )]
    Full {
        /// The key that was not added.
        key: K,
        /// [`crate::Config::capacity`].
        limit: usize,
    },
}

impl<K> AddError<K> {
    #[cold]
    pub(crate) fn new(refusal: Refusal, given: &mut impl KeySource<K>) -> Self {
        let key = given.take();
        match refusal {
            Refusal::Closed => Self::Closed(key),
            Refusal::Full { limit } => Self::Full { key, limit },
        }
    }

    /// Returns the key that was not added.
    pub fn into_key(self) -> K {
        match self {
            Self::Closed(key) | Self::Full { key, .. } => key,
        }
    }
}
