//! What keyed informers are of. It is settled before they run.

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

/// Makes [`KeyedInformers`]. Begun by [`KeyedInformers::builder`].
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

/// So many keys at the most, unless one says otherwise.
const DEFAULT_MAX_KEYS: usize = 100_000;

impl<F: SelectorKey, T: Object> KeyedInformers<F, T> {
    /// Informers by the values of a field or a label, which the function finds in an object too; one on which
    /// it panics is under no key. It is called where the names are locked: it must not use the informers. The texts of two keys differ.
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

/// An object on which the function panics is under no key.
fn catch_panics<F, T>(find: impl Fn(&T) -> Option<F>) -> impl Fn(&T) -> Option<F> {
    move |object| contained(|| find(object)).ok().flatten()
}

impl<F: SelectorKey, T: Object> KeyedBuilder<F, T> {
    /// Takes only such objects, whatever their key.
    pub fn filter(mut self, filter: Filter) -> Self {
        self.filter = filter;
        self
    }

    /// Takes as much, and waits as long.
    pub const fn limits(mut self, limits: ReflectorLimits) -> Self {
        self.limits = limits;
        self
    }

    /// Keeps what is under a key for so long after nobody is interested any more: who comes back soon finds it complete.
    pub const fn linger(mut self, linger: Duration) -> Self {
        self.linger = linger;
        self
    }

    /// So many keys at the most.
    pub const fn keys(mut self, keys: usize) -> Self {
        self.keys = keys;
        self
    }

    /// Has a stream for each key, also where the source has one for all.
    pub const fn per_key(mut self) -> Self {
        self.per_key = true;
        self
    }

    /// Uses this number wherever not all are to be the same: in hash tables, and in how long one waits.
    pub const fn seed(mut self, seed: u64) -> Self {
        self.seed = seed;
        self
    }

    /// Makes them. Nothing is known before they [run](KeyedInformers::run).
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
