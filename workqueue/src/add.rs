//! What is asked of an add, and what became of it.

use crate::core::{KeySource, Refusal};
use crate::{Cause, Debounce, Priority};
use std::time::Duration;

/// How a key is added: when, how urgently, and why. All of it merges with what the key already has.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[must_use = "this only describes an add; give it to Queue::add_with"]
pub struct Add {
    pub(crate) when: When,
    pub(crate) priority: Priority,
    pub(crate) cause: Option<Cause>,
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) enum When {
    /// As the queue is configured: debounced, or now.
    #[default]
    Configured,
    Now,
    After(Duration),
    Debounced(Debounce),
}

impl Add {
    /// As [`crate::Queue::add`] does it: now (or as [`crate::Config::debounce`] says), normal priority, no cause.
    pub const fn new() -> Self {
        Self { when: When::Configured, priority: Priority::NORMAL, cause: None }
    }

    /// At once, even where the queue debounces.
    pub const fn now(self) -> Self {
        Self { when: When::Now, ..self }
    }

    /// Not before `delay` is over, unless something else wants it sooner. More than [`crate::MAX_DELAY`] means that.
    pub const fn after(self, delay: Duration) -> Self {
        Self { when: When::After(delay), ..self }
    }

    /// Once no further debounced add has come for the quiet time, or the maximum wait is over.
    pub const fn debounced(self, debounce: Debounce) -> Self {
        Self { when: When::Debounced(debounce), ..self }
    }

    /// With this priority. A waiting key keeps the highest it was given.
    pub const fn priority(self, priority: Priority) -> Self {
        Self { priority, ..self }
    }

    /// For this reason, which [`crate::Work::causes`] will list.
    pub const fn cause(self, cause: Cause) -> Self {
        Self { cause: Some(cause), ..self }
    }
}

impl When {
    /// Whether it names no deadline, given whether the queue debounces.
    #[inline]
    pub(crate) fn is_now(self, debounces: bool) -> bool {
        match self {
            Self::Now | Self::After(Duration::ZERO) => true,
            Self::Configured => !debounces,
            Self::After(_) | Self::Debounced(_) => false,
        }
    }
}

/// What became of an add.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Added {
    /// The key was not there; now it is queued or delayed.
    Queued,
    /// The key was queued or delayed already, and this add is merged into that.
    Merged,
    /// The key is out: it will be handed out again after it is answered.
    Rerun,
}

/// Why an add was refused. The key comes back.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum AddError<K> {
    /// The queue was closed or is draining.
    #[error("the queue is closed and takes no more keys")]
    Closed(K),
    /// The queue holds as many keys as it may.
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

    /// The key that was not added.
    pub fn into_key(self) -> K {
        match self {
            Self::Closed(key) | Self::Full { key, .. } => key,
        }
    }
}
