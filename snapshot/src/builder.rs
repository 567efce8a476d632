//! What a map's indexes are. They are settled before the map is made.

use crate::index::{FunctionIndex, IndexFunction, KeyIndex, LabelIndex, TextIndex};
use crate::{Index, Label, Map};
use std::borrow::Borrow;
use std::fmt;
use std::sync::Arc;

/// Makes a [`Map`] with its indexes. Begun by [`Map::builder`].
///
/// The functions must answer the same about the same entry for as long as it is in the map: they are asked again when
/// it changes or leaves. They may read the map, but not write it. One that panics undoes the change, and nothing else.
///
/// Values of indexes are compared, cloned and dropped while others wait for the map; these operations may not use it.
#[must_use = "a builder is nothing until it builds"]
pub struct Builder<K, V> {
    seed: u64,
    indexes: Vec<Box<dyn IndexFunction<K, V>>>,
}

impl<K: 'static, V: 'static> Builder<K, V> {
    pub(crate) const fn new(seed: u64) -> Self {
        Self { seed, indexes: Vec::new() }
    }

    /// Adds an index by a function that finds any number of values in an entry: an `Option`, an array, a `Vec`. One
    /// that it names twice counts once.
    ///
    /// The values are kept in order, each once, so the index serves for exact values, ranges and prefixes alike.
    pub fn index<I, R>(&mut self, find: impl Fn(&K, &V) -> R + Send + Sync + 'static) -> Index<I>
    where
        I: Ord + Clone + Send + Sync + 'static,
        R: IntoIterator<Item = I> + 'static,
    {
        self.add(FunctionIndex(find))
    }

    /// Adds an index of the keys, which are texts: as [`Builder::index`] with a function that clones the key, but it is
    /// loaded much faster, and a key whose value changes costs it nothing.
    pub fn keys(&mut self) -> Index<K>
    where
        K: Borrow<str> + Ord + Clone + Send + Sync,
    {
        self.add(KeyIndex)
    }

    /// Adds an index of a text that entries have somewhere, or have not.
    pub fn text(
        &mut self,
        find: impl for<'a> Fn(&'a K, &'a V) -> Option<&'a str> + Send + Sync + 'static,
    ) -> Index<Arc<str>> {
        self.add(TextIndex(find))
    }

    /// Adds an index of the labels of each entry, from a map of texts or whatever iterates like one.
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

    /// Makes the map.
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
