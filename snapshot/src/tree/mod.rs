//! A sorted map with a clone in O(1): the base of all indexes, also usable alone.

mod node;
mod range;

pub use range::Range;

use node::Node;
use std::borrow::Borrow;
use std::fmt;
use std::ops::RangeBounds;
use std::sync::Arc;

/// A sorted map that is cloned in O(1).
///
/// A clone shares every node; a change of either copy clones the nodes on the path to the change,
/// once. A tree that is not shared is changed in place.
///
/// If a comparison or a clone of user code panics, the tree has its content of before the call.
pub struct Tree<K, V> {
    root: Option<Arc<Node<K, V>>>,
    len: usize,
}

/// The path from the root to a value.
pub(crate) struct TreePath(Vec<u8>);

impl<K, V> Tree<K, V> {
    /// Creates an empty tree. Allocates nothing.
    pub const fn new() -> Self {
        Self { root: None, len: 0 }
    }

    /// Returns the number of keys.
    pub const fn len(&self) -> usize {
        self.len
    }

    /// Returns whether the tree is empty.
    pub const fn is_empty(&self) -> bool {
        self.len == 0
    }

    /// Returns every key and its value, in order.
    pub fn iter(&self) -> Range<'_, K, V> {
        Range::whole(self.root.as_deref())
    }

    /// Returns the smallest key and its value.
    pub fn first(&self) -> Option<(&K, &V)> {
        self.iter().next()
    }

    /// Returns the largest key and its value.
    pub fn last(&self) -> Option<(&K, &V)> {
        self.iter().next_back()
    }
}

impl<K: Clone, V> Tree<K, V> {
    /// Creates a tree of strictly increasing keys.
    pub(crate) fn of_sorted(pairs: Vec<(K, V)>) -> Self {
        Self { len: pairs.len(), root: node::build(pairs) }
    }
}

impl<K: Ord, V> Tree<K, V> {
    /// Returns the value of a key.
    pub fn get<Q: Ord + ?Sized>(&self, key: &Q) -> Option<&V>
    where
        K: Borrow<Q>,
    {
        self.root.as_deref()?.get(key)
    }

    /// Returns the keys between two bounds and their values, in order. Starts in O(log n), and is
    /// empty if the bounds are reversed.
    pub fn range<Q: Ord + ?Sized>(&self, bounds: impl RangeBounds<Q>) -> Range<'_, K, V>
    where
        K: Borrow<Q>,
    {
        Range::between(self.root.as_deref(), &bounds)
    }
}

impl<K: Ord + Clone, V: Clone> Tree<K, V> {
    /// Returns the value of a key, to change it. Copies nodes shared with clones.
    pub fn get_mut<Q: Ord + ?Sized>(&mut self, key: &Q) -> Option<&mut V>
    where
        K: Borrow<Q>,
    {
        Arc::make_mut(self.root.as_mut()?).get_mut(key)
    }

    /// As [`Tree::get_mut`], with the path to the value for [`Tree::at`].
    pub(crate) fn locate<Q: Ord + ?Sized>(&mut self, key: &Q) -> Option<(&mut V, TreePath)>
    where
        K: Borrow<Q>,
    {
        let mut path = Vec::new();
        let value = Arc::make_mut(self.root.as_mut()?).locate(key, &mut path)?;
        Some((value, TreePath(path)))
    }

    /// Returns the value at a path, if no key was inserted or removed since: without comparisons or
    /// clones.
    pub(crate) fn at(&mut self, path: &TreePath) -> Option<&mut V> {
        Arc::make_mut(self.root.as_mut()?).at(&path.0)
    }

    /// Sets the value of a key; returns the previous one. A present key is kept, and `key` is
    /// dropped.
    pub fn insert(&mut self, key: K, value: V) -> Option<V> {
        let Some(root) = &mut self.root else {
            self.root = Some(Arc::new(Node::single(key, value)));
            self.len = 1;
            return None;
        };
        node::grow_root(root, &key);
        let before = Arc::make_mut(root).insert(key, value);
        self.len += usize::from(before.is_none());
        before
    }

    /// Removes a key and its value.
    pub fn remove<Q: Ord + ?Sized>(&mut self, key: &Q) -> Option<(K, V)>
    where
        K: Borrow<Q>,
    {
        let root = self.root.as_mut()?;
        let taken = Arc::make_mut(root).remove(key);
        self.len -= usize::from(taken.is_some());
        node::shrink_root(&mut self.root);
        taken
    }
}

impl<K, V> Clone for Tree<K, V> {
    fn clone(&self) -> Self {
        Self { root: self.root.clone(), len: self.len }
    }
}

impl<K, V> Default for Tree<K, V> {
    fn default() -> Self {
        Self::new()
    }
}

impl<K: fmt::Debug, V: fmt::Debug> fmt::Debug for Tree<K, V> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_map().entries(self.iter()).finish()
    }
}

impl<'a, K, V> IntoIterator for &'a Tree<K, V> {
    type Item = (&'a K, &'a V);
    type IntoIter = Range<'a, K, V>;

    fn into_iter(self) -> Self::IntoIter {
        self.iter()
    }
}

/// Sorted, unique keys are built in one pass.
impl<K: Ord + Clone, V: Clone> FromIterator<(K, V)> for Tree<K, V> {
    fn from_iter<I: IntoIterator<Item = (K, V)>>(pairs: I) -> Self {
        let pairs: Vec<(K, V)> = pairs.into_iter().collect();
        if pairs.is_sorted_by(|(before, _), (key, _)| before < key) {
            return Self::of_sorted(pairs);
        }
        let mut tree = Self::new();
        tree.extend(pairs);
        tree
    }
}

impl<K: Ord + Clone, V: Clone> Extend<(K, V)> for Tree<K, V> {
    fn extend<I: IntoIterator<Item = (K, V)>>(&mut self, pairs: I) {
        for (key, value) in pairs {
            self.insert(key, value);
        }
    }
}
