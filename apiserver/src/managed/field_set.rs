//! Sets of field paths, and set operations.

use std::collections::btree_map::Entry;
use std::collections::{BTreeMap, BTreeSet};
use std::fmt::from_fn;

use super::PathElement;
use crate::bounded::BoundedTexts;

/// A set of paths. A path does not imply its parents or children. No child is empty.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct FieldSet {
    pub(super) members: BTreeSet<PathElement>,
    pub(super) children: BTreeMap<PathElement, FieldSet>,
}

impl FieldSet {
    /// Adds a path. The empty path, the whole object, is ignored: it has no owner.
    pub(crate) fn insert(&mut self, path: &[PathElement]) {
        match path {
            [] => {}
            [last] => drop(self.members.insert(last.clone())),
            [first, rest @ ..] => self.children.entry(first.clone()).or_default().insert(rest),
        }
    }

    pub(crate) fn contains(&self, path: &[PathElement]) -> bool {
        match path {
            [] => false,
            [last] => self.members.contains(last),
            [first, rest @ ..] => self.children.get(first).is_some_and(|child| child.contains(rest)),
        }
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.members.is_empty() && self.children.is_empty()
    }

    /// Returns the union.
    pub(crate) fn union(mut self, other: Self) -> Self {
        if self.is_empty() {
            return other;
        }
        self.members.extend(other.members);
        for (element, theirs) in other.children {
            match self.children.entry(element) {
                Entry::Vacant(entry) => drop(entry.insert(theirs)),
                Entry::Occupied(mut entry) => {
                    let ours = std::mem::take(entry.get_mut());
                    entry.insert(ours.union(theirs));
                }
            }
        }
        self
    }

    /// Returns the intersection.
    pub(crate) fn intersection(&self, other: &Self) -> Self {
        let both = |(element, ours): (&PathElement, &Self)| {
            let both = ours.intersection(other.children.get(element)?);
            (!both.is_empty()).then(|| (element.clone(), both))
        };
        Self {
            members: self.members.intersection(&other.members).cloned().collect(),
            children: self.children.iter().filter_map(both).collect(),
        }
    }

    /// Returns the paths of this set that are not in the other. The cost depends on the size of
    /// this set only.
    pub(crate) fn difference(mut self, other: &Self) -> Self {
        self.members.retain(|element| !other.members.contains(element));
        self.children.retain(|element, ours| {
            if let Some(theirs) = other.children.get(element) {
                *ours = std::mem::take(ours).difference(theirs);
            }
            !ours.is_empty()
        });
        self
    }

    /// Returns the set without these fields of the root and the fields below them.
    pub(super) fn less_root(mut self, names: &[&str]) -> Self {
        for name in names {
            let element = PathElement::Field((*name).into());
            self.members.remove(&element);
            self.children.remove(&element);
        }
        self
    }

    /// Returns the paths, in order, as error messages show them.
    pub(super) fn texts(&self) -> BoundedTexts {
        let mut texts = BoundedTexts::default();
        self.add_texts(&mut Vec::new(), &mut texts);
        texts
    }

    fn add_texts<'a>(&'a self, path: &mut Vec<&'a PathElement>, texts: &mut BoundedTexts) {
        for member in &self.members {
            let path = &*path;
            texts.push(from_fn(|f| {
                path.iter().try_for_each(|element| write!(f, "{element}"))?;
                write!(f, "{member}")
            }));
        }
        for (element, below) in &self.children {
            path.push(element);
            below.add_texts(path, texts);
            path.pop();
        }
    }

    /// Adds the set below a path element, and the element itself if it is in the set.
    pub(super) fn merge_child(&mut self, element: PathElement, below: Self, itself: bool) {
        if itself && below.is_empty() {
            self.members.insert(element);
            return;
        }
        if itself {
            self.members.insert(element.clone());
        }
        if !below.is_empty() {
            let child = self.children.entry(element).or_default();
            *child = std::mem::take(child).union(below);
        }
    }
}
