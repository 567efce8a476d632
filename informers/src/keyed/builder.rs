//! The builder of keyed informers: source, filter, limits and the key of an object.

use std::fmt;
use std::sync::Arc;
use std::sync::atomic::AtomicU64;
use std::time::Duration;

use machinery_objects::{Filter, InterestBy, ListWatch, Object};
use machinery_sync::{Mutex, contained};

use super::informers::KeyedInformers;
use super::keyed_cache::KeyedCache;
use super::keyed_store::KeyFn;
use super::progress::Progress;
use super::shared::{KeyedShared, SelectorKey};
use crate::reflect::ReflectorLimits;
use crate::seed::random_seed;
use crate::source::unprojected;

/// Builds [`KeyedInformers`]. Created by [`KeyedInformers::builder`].
#[must_use = "a builder is nothing until it builds"]
pub struct KeyedBuilder<F, T> {
    source: Arc<dyn ListWatch<Arc<T>>>,
    by: InterestBy,
    find: KeyFn<F, T>,
    filter: Filter,
    limits: ReflectorLimits,
    seed: u64,
    linger: Duration,
    keys: usize,
    per_key: bool,
}

/// Default of the maximum number of keys.
const DEFAULT_MAX_KEYS: usize = 100_000;

impl<F: SelectorKey, T: Object> KeyedInformers<F, T> {
    /// Returns a builder for informers by the values of a field or label, which `find` also
    /// extracts from an object.
    ///
    /// An object on which `find` panics is under no key. `find` is called while the names are
    /// locked: it must not use the informers. Different keys must have different texts.
    pub fn builder<S>(
        source: Arc<dyn ListWatch<S>>,
        by: InterestBy,
        find: impl Fn(&T) -> Option<F> + Send + Sync + 'static,
    ) -> KeyedBuilder<F, T>
    where
        S: Into<Arc<T>> + Send + 'static,
    {
        KeyedBuilder {
            source: unprojected(source),
            by,
            find: Arc::new(catch_panics(find)),
            filter: Filter::default(),
            limits: ReflectorLimits::default(),
            seed: random_seed(),
            linger: Duration::ZERO,
            keys: DEFAULT_MAX_KEYS,
            per_key: false,
        }
    }
}

/// Wraps a key function so that a panic yields no key.
fn catch_panics<F, T>(find: impl Fn(&T) -> Option<F>) -> impl Fn(&T) -> Option<F> {
    move |object| contained(|| find(object)).ok().flatten()
}

impl<F: SelectorKey, T: Object> KeyedBuilder<F, T> {
    /// Restricts the informers to objects that match the filter, in addition to the selection by
    /// key.
    pub fn filter(mut self, filter: Filter) -> Self {
        self.filter = filter;
        self
    }

    /// Sets the limits and timeouts.
    pub const fn limits(mut self, limits: ReflectorLimits) -> Self {
        self.limits = limits;
        self
    }

    /// Keeps a key for this time after its last interest is dropped, so that it is complete at once
    /// if it is acquired again.
    pub const fn linger(mut self, linger: Duration) -> Self {
        self.linger = linger;
        self
    }

    /// Sets the maximum number of keys.
    pub const fn keys(mut self, keys: usize) -> Self {
        self.keys = keys;
        self
    }

    /// Uses a stream per key, even if the source has interest streams.
    pub const fn per_key(mut self) -> Self {
        self.per_key = true;
        self
    }

    /// Sets the seed of hash tables and of the jitter of back-offs.
    pub const fn seed(mut self, seed: u64) -> Self {
        self.seed = seed;
        self
    }

    /// Builds the informers. They are empty until they [run](KeyedInformers::run).
    #[must_use]
    pub fn build(self) -> KeyedInformers<F, T> {
        let Self { source, by, find, filter, limits, seed, linger, keys, per_key } = self;
        let keyed_cache = Arc::new(KeyedCache::new(seed, keys, linger));
        let (report, streams) = (Mutex::default(), AtomicU64::new(0));
        KeyedInformers::new(KeyedShared {
            source,
            by,
            find,
            filter,
            limits,
            seed,
            linger,
            per_key,
            keyed_cache,
            progress: Progress::default(),
            report,
            streams,
        })
    }
}

impl<F, T> fmt::Debug for KeyedBuilder<F, T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("KeyedBuilder")
            .field("by", &self.by)
            .field("filter", &self.filter)
            .finish_non_exhaustive()
    }
}
