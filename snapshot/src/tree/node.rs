//! Nodes of the tree. On the way down, full nodes are split and small ones merged before any other
//! change: each of these steps keeps the content, so a panic in a clone or a comparison does too.

use std::borrow::Borrow;
use std::mem::size_of;
use std::sync::Arc;

/// Maximum number of children of an inner node.
const FANOUT: usize = 16;

#[derive(Clone)]
pub(super) enum Node<K, V> {
    /// Never empty, except before it is removed from its parent.
    Leaf(Vec<(K, V)>),
    Inner(Inner<K, V>),
}

#[derive(Clone)]
pub(super) struct Inner<K, V> {
    /// One fewer than the children: `keys[i]` is above all of `children[i]`, and not above any of
    /// `children[i + 1]`.
    pub(super) keys: Vec<K>,
    pub(super) children: Vec<Arc<Node<K, V>>>,
}

/// Builds a tree of sorted, unique keys.
pub(super) fn build<K: Clone, V>(pairs: Vec<(K, V)>) -> Option<Arc<Node<K, V>>> {
    // Not quite full, so that the next inserts do not split every node.
    let leaves = portions(pairs, Node::<K, V>::LEAF * 7 / 8);
    let mut level: Vec<(K, Arc<Node<K, V>>)> =
        leaves.map(|leaf| (leaf[0].0.clone(), Arc::new(Node::Leaf(leaf)))).collect();
    while level.len() > 1 {
        let inner = |nodes: Vec<(K, Arc<Node<K, V>>)>| {
            let (mut keys, children): (Vec<K>, Vec<_>) = nodes.into_iter().unzip();
            let first = keys.remove(0);
            (first, Arc::new(Node::Inner(Inner { keys, children })))
        };
        level = portions(level, FANOUT * 7 / 8).map(inner).collect();
    }
    level.pop().map(|(_, root)| root)
}

fn portions<T>(items: Vec<T>, size: usize) -> impl Iterator<Item = Vec<T>> {
    let mut items = items.into_iter();
    std::iter::from_fn(move || {
        Some(items.by_ref().take(size).collect()).filter(|portion: &Vec<T>| !portion.is_empty())
    })
}

/// Replaces a full root by an inner node over its two halves.
pub(super) fn grow_root<K: Ord + Clone, V: Clone>(root: &mut Arc<Node<K, V>>, key: &K) {
    // Before the descent, so that every node on the way has space for one more child.
    if root.is_full() {
        let (separator, right) = Arc::make_mut(root).split(key);
        let children = vec![root.clone(), Arc::new(right)];
        *root = Arc::new(Node::Inner(Inner { keys: vec![separator], children }));
    }
}

/// Removes a root that is empty, or has only one child.
pub(super) fn shrink_root<K, V>(root: &mut Option<Arc<Node<K, V>>>) {
    while let Some(node) = root {
        match &**node {
            Node::Leaf(entries) if entries.is_empty() => *root = None,
            Node::Inner(inner) if inner.children.is_empty() => *root = None,
            Node::Inner(inner) if inner.children.len() == 1 => {
                let only = inner.children[0].clone();
                *root = Some(only);
            }
            _ => return,
        }
    }
}

impl<K, V> Node<K, V> {
    /// Small entries are cheap to copy, so a node holds many; others cost a clone each. Nodes stay
    /// below a kilobyte: from there on, allocators consolidate free memory, which takes longer than
    /// the rest of a change.
    const LEAF: usize = if size_of::<(K, V)>() <= 8 { 128 } else { 16 };

    pub(super) fn single(key: K, value: V) -> Self {
        Self::Leaf(vec![(key, value)])
    }

    fn len(&self) -> usize {
        match self {
            Self::Leaf(entries) => entries.len(),
            Self::Inner(inner) => inner.children.len(),
        }
    }

    const fn limit(&self) -> usize {
        match self {
            Self::Leaf(_) => Self::LEAF,
            Self::Inner(_) => FANOUT,
        }
    }

    fn is_full(&self) -> bool {
        self.len() >= self.limit()
    }

    /// Returns whether the two fit one node.
    fn merges_with(&self, other: &Self) -> bool {
        // Not up to the limit, or the next insert would split the node again.
        self.len() + other.len() <= self.limit() * 3 / 4
    }

    pub(super) fn get<Q: Ord + ?Sized>(&self, key: &Q) -> Option<&V>
    where
        K: Borrow<Q>,
    {
        let mut node = self;
        loop {
            match node {
                Self::Inner(inner) => node = &inner.children[inner.child_of(key)],
                Self::Leaf(entries) => {
                    let at = entries.binary_search_by(|(k, _)| k.borrow().cmp(key)).ok()?;
                    return Some(&entries[at].1);
                }
            }
        }
    }
}

impl<K, V> Inner<K, V> {
    /// Returns the child that may have the key.
    pub(super) fn child_of<Q: Ord + ?Sized>(&self, key: &Q) -> usize
    where
        K: Borrow<Q>,
    {
        self.keys.partition_point(|separator| separator.borrow() <= key)
    }
}

impl<K: Ord + Clone, V: Clone> Node<K, V> {
    pub(super) fn get_mut<Q: Ord + ?Sized>(&mut self, key: &Q) -> Option<&mut V>
    where
        K: Borrow<Q>,
    {
        match self {
            Self::Inner(inner) => {
                let at = inner.child_of(key);
                Arc::make_mut(&mut inner.children[at]).get_mut(key)
            }
            Self::Leaf(entries) => {
                let at = entries.binary_search_by(|(k, _)| k.borrow().cmp(key)).ok()?;
                Some(&mut entries[at].1)
            }
        }
    }

    /// As [`Node::get_mut`]; records the path.
    pub(super) fn locate<Q: Ord + ?Sized>(&mut self, key: &Q, path: &mut Vec<u8>) -> Option<&mut V>
    where
        K: Borrow<Q>,
    {
        let at = match self {
            Self::Inner(inner) => inner.child_of(key),
            Self::Leaf(entries) => entries.binary_search_by(|(k, _)| k.borrow().cmp(key)).ok()?,
        };
        path.push(u8::try_from(at).expect("no node is that large"));
        match self {
            Self::Inner(inner) => Arc::make_mut(&mut inner.children[at]).locate(key, path),
            Self::Leaf(entries) => Some(&mut entries[at].1),
        }
    }

    /// Returns the value at the end of a path.
    pub(super) fn at(&mut self, path: &[u8]) -> Option<&mut V> {
        let (&at, rest) = path.split_first()?;
        match self {
            Self::Inner(inner) => Arc::make_mut(inner.children.get_mut(usize::from(at))?).at(rest),
            Self::Leaf(entries) => entries.get_mut(usize::from(at)).map(|(_, value)| value),
        }
    }

    /// Requires that this node is not full, so that a child may be split below it.
    pub(super) fn insert(&mut self, key: K, value: V) -> Option<V> {
        match self {
            Self::Inner(inner) => {
                let at = inner.split_full_child(&key);
                Arc::make_mut(&mut inner.children[at]).insert(key, value)
            }
            Self::Leaf(entries) => match entries.binary_search_by(|(k, _)| k.cmp(&key)) {
                Ok(at) => Some(std::mem::replace(&mut entries[at].1, value)),
                Err(at) => {
                    insert_at(entries, at, (key, value));
                    None
                }
            },
        }
    }

    /// Removes a key. May leave this node empty, for its parent to remove.
    pub(super) fn remove<Q: Ord + ?Sized>(&mut self, key: &Q) -> Option<(K, V)>
    where
        K: Borrow<Q>,
    {
        match self {
            Self::Inner(inner) => {
                let at = inner.child_of(key);
                let at = inner.merge_child(at);
                let child = Arc::make_mut(&mut inner.children[at]);
                let taken = child.remove(key);
                if child.len() == 0 {
                    inner.take_out(at);
                }
                taken
            }
            Self::Leaf(entries) => {
                let at = entries.binary_search_by(|(k, _)| k.borrow().cmp(key)).ok()?;
                Some(entries.remove(at))
            }
        }
    }

    /// Splits a node in two: returns the right one and the key between them. In the middle, but at
    /// the end if the next key is inserted there: keys that arrive in order fill their nodes.
    fn split(&mut self, next: &K) -> (K, Self) {
        match self {
            Self::Leaf(entries) => {
                let ascending = entries.last().is_some_and(|(last, _)| last < next);
                let at = if ascending { entries.len() - 1 } else { entries.len() / 2 };
                let separator = entries[at].0.clone();
                (separator, Self::Leaf(split_off(entries, at)))
            }
            Self::Inner(inner) => {
                let ascending = inner.keys.last().is_some_and(|last| last <= next);
                let at = if ascending { inner.children.len() - 2 } else { inner.children.len() / 2 };
                let children = split_off(&mut inner.children, at);
                let keys = split_off(&mut inner.keys, at);
                let separator =
                    inner.keys.pop().expect("both halves have children, so a key was between them");
                (separator, Self::Inner(Inner { keys, children }))
            }
        }
    }

    /// Appends the node to the right of it.
    fn absorb(&mut self, between: K, right: Self) {
        match (self, right) {
            (Self::Leaf(entries), Self::Leaf(more)) => entries.extend(more),
            (Self::Inner(inner), Self::Inner(more)) => {
                inner.keys.push(between);
                inner.keys.extend(more.keys);
                inner.children.extend(more.children);
            }
            _ => unreachable!("all leaves are equally deep"),
        }
    }
}

impl<K: Ord + Clone, V: Clone> Inner<K, V> {
    /// Returns the child for the key, after splitting it if it is full.
    fn split_full_child(&mut self, key: &K) -> usize {
        let at = self.child_of(key);
        if !self.children[at].is_full() {
            return at;
        }
        let (separator, right) = Arc::make_mut(&mut self.children[at]).split(key);
        let right_has_it = separator <= *key;
        insert_at(&mut self.keys, at, separator);
        insert_at(&mut self.children, at + 1, Arc::new(right));
        at + usize::from(right_has_it)
    }

    /// Merges a small child with a neighbour, if they fit. Returns its index.
    fn merge_child(&mut self, at: usize) -> usize {
        let child = &self.children[at];
        if child.len() > child.limit() / 4 {
            return at;
        }
        let merges = |left: usize| {
            let pair = self.children.get(left).zip(self.children.get(left + 1));
            pair.is_some_and(|(left, right)| left.merges_with(right))
        };
        let left = match at.checked_sub(1) {
            Some(left) if merges(left) => left,
            _ if merges(at) => at,
            _ => return at,
        };
        // Both are unshared first: that clones, and may panic. Then their entries move.
        Arc::make_mut(&mut self.children[left]);
        Arc::make_mut(&mut self.children[left + 1]);
        let right = Arc::unwrap_or_clone(self.children.remove(left + 1));
        let between = self.keys.remove(left);
        Arc::make_mut(&mut self.children[left]).absorb(between, right);
        left
    }

    fn take_out(&mut self, at: usize) {
        self.children.remove(at);
        if !self.keys.is_empty() {
            self.keys.remove(at.saturating_sub(1));
        }
    }
}

/// Inserts without doubling the capacity: a node is full soon enough.
fn insert_at<T>(items: &mut Vec<T>, at: usize, item: T) {
    if items.len() == items.capacity() {
        items.reserve_exact((items.len() / 2).clamp(2, 16));
    }
    items.insert(at, item);
}

/// As [`Vec::split_off`], without keeping the excess capacity.
fn split_off<T>(items: &mut Vec<T>, at: usize) -> Vec<T> {
    let right = items.split_off(at);
    items.shrink_to(at + at / 8);
    right
}
