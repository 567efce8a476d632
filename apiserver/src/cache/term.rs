//! Terms: the keys of the index of watchers.

use std::hash::{BuildHasher, Hash};

use super::ObjectState;
use crate::kind::Kind;

/// A term that an object has and a filter requires, in one namespace or in all.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(crate) enum Term<'a> {
    /// Matches every object.
    Any(Option<&'a str>),
    Name(Option<&'a str>, &'a str),
    Label(Option<&'a str>, &'a str, &'a str),
    /// A selectable field by index.
    Field(Option<&'a str>, usize, &'a str),
}

impl Term<'_> {
    /// Returns the hash for the index. Matches are verified, so collisions are harmless.
    pub(super) fn hash(&self, seed: &impl BuildHasher) -> u64 {
        seed.hash_one(self)
    }
}

/// Calls `each` with every term of an object.
pub(super) fn each_term(kind: &Kind, state: &ObjectState, mut each: impl FnMut(Term<'_>)) {
    let (namespace, name) = kind.place.names(&state.entry.key);
    let own = namespace.is_some().then_some(namespace);
    for namespace in [Some(None), own].into_iter().flatten() {
        each(Term::Any(namespace));
        each(Term::Name(namespace, name));
        for (key, value) in state.labels().into_iter().flat_map(|labels| labels.iter()) {
            each(Term::Label(namespace, key, value));
        }
        for (at, value) in state.fields().enumerate().filter(|(_, value)| !value.is_empty()) {
            each(Term::Field(namespace, at, value));
        }
    }
}
