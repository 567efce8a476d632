//! Declares the indexes of a map before it is created.

use crate::index::{FunctionIndex, IndexFunction, KeyIndex, LabelIndex, TextIndex};
use crate::{Index, Label, Map};
use std::borrow::Borrow;
use std::fmt;
use std::sync::Arc;

/// Builds a [`Map`] with its indexes. Created by [`Map::builder`].
///
/// An index function must return the same values for an entry for as long as it is in the map: it
/// is called again when the entry is updated or removed. It may read the map, but not write it. If
/// it panics, the change is undone and nothing else.
///
/// Index values are compared, cloned and dropped while others wait for the map; these operations
/// must not use it.
#[must_use = "a builder is nothing until it builds"]
pub struct Builder<K, V> {
    seed: u64,
    indexes: Vec<Box<dyn IndexFunction<K, V>>>,
}

impl<K: 'static, V: 'static> Builder<K, V> {
    pub(crate) const fn new(seed: u64) -> Self {
        Self { seed, indexes: Vec::new() }
    }

    /// Adds an index by a function that returns any number of values of an entry: an `Option`, an
    /// array, a `Vec`. Duplicates count once.
    ///
    /// The values are sorted and unique, so the index serves exact values, ranges and prefixes.
    pub fn index<I, R>(&mut self, find: impl Fn(&K, &V) -> R + Send + Sync + 'static) -> Index<I>
    where
        I: Ord + Clone + Send + Sync + 'static,
        R: IntoIterator<Item = I> + 'static,
    {
        self.add(FunctionIndex(find))
    }

    /// Adds an index of the keys, which are texts: equal to [`Builder::index`] with a function that
    /// clones the key, but loads much faster, and an update of a value does not touch it.
    pub fn keys(&mut self) -> Index<K>
    where
        K: Borrow<str> + Ord + Clone + Send + Sync,
    {
        self.add(KeyIndex)
    }

    /// Adds an index of an optional text of each entry.
    pub fn text(
        &mut self,
        find: impl for<'a> Fn(&'a K, &'a V) -> Option<&'a str> + Send + Sync + 'static,
    ) -> Index<Arc<str>> {
        self.add(TextIndex(find))
    }

    /// Adds an index of the labels of each entry, from a map of texts or any type that iterates
    /// like one.
    pub fn labels<M, A, B>(
        &mut self,
        find: impl for<'a> Fn(&'a V) -> &'a M + Send + Sync + 'static,
    ) -> Index<Label>
    where
        M: ?Sized + 'static,
        for<'a> &'a M: IntoIterator<Item = (&'a A, &'a B)>,
        A: AsRef<str> + ?Sized + 'static,
        B: AsRef<str> + ?Sized + 'static,
    {
        self.add(LabelIndex::new(find))
    }

    /// Creates the map.
    pub fn build(self) -> Map<K, V> {
        Map::new(self.seed, self.indexes)
    }

    fn add<I>(&mut self, index: impl IndexFunction<K, V> + 'static) -> Index<I> {
        self.indexes.push(Box::new(index));
        Index::new(self.indexes.len() - 1)
    }
}

impl<K, V> fmt::Debug for Builder<K, V> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Builder").field("indexes", &self.indexes.len()).finish_non_exhaustive()
    }
}
