//! Iteration between two positions of a tree, from both ends.

use super::node::Node;
use std::borrow::Borrow;
use std::iter::FusedIterator;
use std::ops::{Bound, RangeBounds};
use std::sync::Arc;

/// The keys of a [`Tree`](super::Tree) between two bounds, and their values, in order.
pub struct Range<'a, K, V> {
    /// Front and back. `None`: exhausted or empty.
    ends: Option<(Edge<'a, K, V>, Edge<'a, K, V>)>,
}

/// The children of an inner node, and the index of the child on the path.
type PathStep<'a, K, V> = (&'a [Arc<Node<K, V>>], usize);

/// A position between two entries of a leaf.
struct Edge<'a, K, V> {
    /// The path to the leaf.
    path: Vec<PathStep<'a, K, V>>,
    leaf: &'a [(K, V)],
    at: usize,
}

impl<'a, K, V> Range<'a, K, V> {
    pub(crate) const fn empty() -> Self {
        Self { ends: None }
    }

    pub(super) fn whole(root: Option<&'a Node<K, V>>) -> Self {
        Self {
            ends: root.map(|root| (Edge::outermost(root, Side::Front), Edge::outermost(root, Side::Back))),
        }
    }

    pub(super) fn between<Q: Ord + ?Sized>(root: Option<&'a Node<K, V>>, bounds: &impl RangeBounds<Q>) -> Self
    where
        K: Borrow<Q>,
    {
        let (start, end) = (bounds.start_bound(), bounds.end_bound());
        let empty = match (start, end) {
            (Bound::Unbounded, _) | (_, Bound::Unbounded) => false,
            (Bound::Included(start), Bound::Included(end)) => start > end,
            (
                Bound::Included(start) | Bound::Excluded(start),
                Bound::Included(end) | Bound::Excluded(end),
            ) => start >= end,
        };
        let root = root.filter(|_| !empty);
        let front = |root| match start {
            Bound::Unbounded => Edge::outermost(root, Side::Front),
            Bound::Included(key) => Edge::beside(root, key, Side::Front),
            Bound::Excluded(key) => Edge::beside(root, key, Side::Back),
        };
        let back = |root| match end {
            Bound::Unbounded => Edge::outermost(root, Side::Back),
            Bound::Included(key) => Edge::beside(root, key, Side::Back),
            Bound::Excluded(key) => Edge::beside(root, key, Side::Front),
        };
        Self { ends: root.map(|root| (front(root), back(root))) }
    }
}

#[derive(Clone, Copy, PartialEq)]
enum Side {
    Front,
    Back,
}

impl<'a, K, V> Edge<'a, K, V> {
    /// Before all entries, or after them.
    fn outermost(root: &'a Node<K, V>, side: Side) -> Self {
        let mut edge = Self { path: Vec::new(), leaf: &[], at: 0 };
        edge.descend(root, side);
        edge
    }

    /// Before the key's position, or after it.
    fn beside<Q: Ord + ?Sized>(root: &'a Node<K, V>, key: &Q, side: Side) -> Self
    where
        K: Borrow<Q>,
    {
        let mut path = Vec::new();
        let mut node = root;
        loop {
            match node {
                Node::Inner(inner) => {
                    let at = inner.child_of(key);
                    path.push((&*inner.children, at));
                    node = &inner.children[at];
                }
                Node::Leaf(entries) => {
                    let at = match side {
                        Side::Front => entries.partition_point(|(k, _)| k.borrow() < key),
                        Side::Back => entries.partition_point(|(k, _)| k.borrow() <= key),
                    };
                    return Self { path, leaf: entries, at };
                }
            }
        }
    }

    fn descend(&mut self, mut node: &'a Node<K, V>, side: Side) {
        loop {
            match node {
                Node::Inner(inner) => {
                    let at = if side == Side::Front { 0 } else { inner.children.len() - 1 };
                    self.path.push((&inner.children, at));
                    node = &inner.children[at];
                }
                Node::Leaf(entries) => {
                    self.leaf = entries;
                    self.at = if side == Side::Front { 0 } else { entries.len() };
                    return;
                }
            }
        }
    }

    /// Moves to the next leaf, if there is one.
    fn forward(&mut self) -> bool {
        while let Some((children, at)) = self.path.pop() {
            if let Some(next) = children.get(at + 1) {
                self.path.push((children, at + 1));
                self.descend(next, Side::Front);
                return true;
            }
        }
        false
    }

    /// Moves to the previous leaf, if there is one.
    fn backward(&mut self) -> bool {
        while let Some((children, at)) = self.path.pop() {
            if let Some(before) = at.checked_sub(1) {
                self.path.push((children, before));
                self.descend(&children[before], Side::Back);
                return true;
            }
        }
        false
    }
}

/// Returns whether there is no entry between the two.
fn met<K, V>(front: &Edge<'_, K, V>, back: &Edge<'_, K, V>) -> bool {
    std::ptr::eq(front.leaf, back.leaf) && front.at >= back.at
}

impl<'a, K, V> Iterator for Range<'a, K, V> {
    type Item = (&'a K, &'a V);

    #[inline]
    fn next(&mut self) -> Option<Self::Item> {
        let (front, back) = self.ends.as_mut()?;
        loop {
            if met(front, back) {
                return None;
            }
            if let Some((key, value)) = front.leaf.get(front.at) {
                front.at += 1;
                return Some((key, value));
            }
            if !front.forward() {
                self.ends = None;
                return None;
            }
        }
    }
}

impl<K, V> DoubleEndedIterator for Range<'_, K, V> {
    fn next_back(&mut self) -> Option<Self::Item> {
        let (front, back) = self.ends.as_mut()?;
        loop {
            if met(front, back) {
                return None;
            }
            if let Some(at) = back.at.checked_sub(1) {
                back.at = at;
                let (key, value) = &back.leaf[at];
                return Some((key, value));
            }
            if !back.backward() {
                self.ends = None;
                return None;
            }
        }
    }
}

impl<K, V> FusedIterator for Range<'_, K, V> {}

impl<K, V> Clone for Range<'_, K, V> {
    fn clone(&self) -> Self {
        Self { ends: self.ends.as_ref().map(|(front, back)| (front.copy(), back.copy())) }
    }
}

impl<K, V> Edge<'_, K, V> {
    fn copy(&self) -> Self {
        Self { path: self.path.clone(), leaf: self.leaf, at: self.at }
    }
}
