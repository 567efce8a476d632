//! The builder of an informer: its source, filter, limits and indexes.

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

/// Builds an [`Informer`]. Created by [`Informer::builder`] or [`Informer::projection`].
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
    /// Returns a builder for an informer of all objects of a source, unless a
    /// [`filter`](Builder::filter) is set.
    pub fn builder<S>(source: Arc<dyn ListWatch<S>>) -> Builder<T>
    where
        S: Into<Arc<T>> + Send + 'static,
    {
        Builder::new(unprojected(source))
    }

    /// Returns a builder for an informer that caches a projection of each object, applied while
    /// decoding (client-go's `TransformFunc`).
    ///
    /// An object on which the function panics is [unreadable](super::State::unreadable). A source
    /// may also decode objects directly into the projected type, as `machinery_kube` does; then the
    /// full object never exists in memory.
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

    /// Adds an index (client-go's `Indexer`) by a function that returns the values of an object.
    /// Values are ordered, so that exact values, ranges and prefixes can be looked up.
    ///
    /// An object without values is not in the index; nor is one on which the function panics, which
    /// is [counted](super::Counts::index_panics). The function is called while the cache is locked:
    /// it must not use the informer.
    pub fn index<I, R>(&mut self, find: impl Fn(&T) -> R + Send + Sync + 'static) -> Index<I>
    where
        I: Ord + Clone + Send + Sync + 'static,
        R: IntoIterator<Item = I> + 'static,
    {
        let find = index_fn(find, self.index_panics.clone());
        self.map.index(move |_, object| find(object))
    }

    /// Adds an index of the keys: the prefix `NAMESPACE/` finds the objects of a namespace.
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

    /// Restricts the informer to objects that match the filter.
    pub fn filter(&mut self, filter: Filter) -> &mut Self {
        self.filter = filter;
        self
    }

    /// Sets the limits and timeouts.
    pub fn limits(&mut self, limits: ReflectorLimits) -> &mut Self {
        self.limits = limits;
        self
    }

    /// Sets the interval of the drift check, at least a second: it compares the cache with a list,
    /// and replaces the resync of client-go. Default: none.
    ///
    /// Differences that persist once the cache has caught up with the list are
    /// [counted](super::Counts::drifts), and cause a relist. No drift is counted while there is an
    /// [error](super::State::trouble).
    pub fn drift_check(&mut self, every: Duration) -> &mut Self {
        self.drift_check = Some(every);
        self
    }

    /// Sets the seed of hash tables and of the jitter of back-offs.
    pub fn seed(&mut self, seed: u64) -> &mut Self {
        self.seed = seed;
        self
    }

    /// Builds the informer. Its cache is empty until it [runs](Informer::run).
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
