//! What an informer is of, and by what its objects are found. It is settled before it runs.

use std::fmt;
use std::sync::Arc;
use std::sync::atomic::AtomicU64;
use std::time::Duration;

use machinery_objects::{Filter, ListWatch, Object, ObjectKey};
use machinery_snapshot::{Index, Label, Map};

use super::indexes::index_fn;
use super::shared::{Informer, Setup};
use crate::reflect::ReflectorLimits;
use crate::seed::random_seed;
use crate::source::{projected, unprojected};

/// Makes an [`Informer`]. Begun by [`Informer::builder`] or [`Informer::projection`].
#[must_use = "a builder is nothing until it builds"]
pub struct Builder<T> {
    source: Arc<dyn ListWatch<Arc<T>>>,
    map: machinery_snapshot::Builder<ObjectKey, Arc<T>>,
    filter: Filter,
    limits: ReflectorLimits,
    seed: u64,
    drift_check: Option<Duration>,
    index_panics: Arc<AtomicU64>,
}

impl<T: Object> Informer<T> {
    /// An informer of all that a source has, unless [`filter`](Builder::filter) says less.
    pub fn builder<S>(source: Arc<dyn ListWatch<S>>) -> Builder<T>
    where
        S: Into<Arc<T>> + Send + 'static,
    {
        Builder::new(unprojected(source))
    }

    /// An informer that keeps a part of each object: whatever the function makes of it, as it is read, before the next one is.
    ///
    /// An object on which the function panics is one that cannot be [read](super::State::unreadable).
    ///
    /// Where the source itself reads objects as what is to be kept, as one over the wire does, nothing else is ever made.
    pub fn projection<S>(
        source: Arc<dyn ListWatch<S>>,
        project: impl Fn(S) -> T + Send + Sync + 'static,
    ) -> Builder<T>
    where
        S: Object,
    {
        Builder::new(projected(source, project))
    }
}

impl<T: Object> Builder<T> {
    fn new(source: Arc<dyn ListWatch<Arc<T>>>) -> Self {
        let seed = random_seed();
        Self {
            source,
            map: Map::builder(seed),
            filter: Filter::default(),
            limits: ReflectorLimits::default(),
            seed,
            drift_check: None,
            index_panics: Arc::default(),
        }
    }

    /// Adds an index by a function that finds any number of values in an object. They are kept in order: exact values, ranges
    /// and prefixes are one thing.
    ///
    /// A function that cannot say returns no value, and the object is found under nothing. So is one on which it panics, which is
    /// [counted](super::Counts::index_panics) besides.
    /// It is called where the cache is locked: it must not use the informer.
    pub fn index<I, R>(&mut self, find: impl Fn(&T) -> R + Send + Sync + 'static) -> Index<I>
    where
        I: Ord + Clone + Send + Sync + 'static,
        R: IntoIterator<Item = I> + 'static,
    {
        let find = index_fn(find, self.index_panics.clone());
        self.map.index(move |_, object| find(object))
    }

    /// Adds an index of the keys: `NAMESPACE/` as a prefix finds a namespace.
    pub fn keys(&mut self) -> Index<ObjectKey> {
        self.map.keys()
    }

    /// Adds an index of the labels.
    pub fn labels(&mut self) -> Index<Label> {
        self.index(|object: &T| {
            let labels = object.labels();
            labels.iter().map(|(key, value)| Label::new(key, value)).collect::<Vec<_>>()
        })
    }

    /// Takes only such objects.
    pub fn filter(&mut self, filter: Filter) -> &mut Self {
        self.filter = filter;
        self
    }

    /// Takes as much, and waits as long.
    pub fn limits(&mut self, limits: ReflectorLimits) -> &mut Self {
        self.limits = limits;
        self
    }

    /// Compares the cache with a list as often, but with a second between two at the least. What differs, and goes on to differ
    /// when the cache has come so far, is [counted](super::Counts::drifts), and all is listed anew. While there is a
    /// [trouble](super::State::trouble) nothing is judged.
    pub fn drift_check(&mut self, every: Duration) -> &mut Self {
        self.drift_check = Some(every);
        self
    }

    /// Uses this number wherever not all are to be the same: in hash tables, and in how long one waits.
    pub fn seed(&mut self, seed: u64) -> &mut Self {
        self.seed = seed;
        self
    }

    /// Makes it. It is empty until it [runs](Informer::run).
    #[must_use]
    pub fn build(self) -> Informer<T> {
        let Self { source, map, filter, limits, seed, drift_check, index_panics } = self;
        Informer::new(Setup { source, map: map.build(), filter, limits, seed, drift_check, index_panics })
    }
}

impl<T> fmt::Debug for Builder<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Builder")
            .field("map", &self.map)
            .field("filter", &self.filter)
            .finish_non_exhaustive()
    }
}
