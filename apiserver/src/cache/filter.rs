//! Filters of watches and lists, and their place in the index.

use std::sync::Arc;

use machinery_objects::{LabelTest, NAME, NAMESPACE};

use super::{ObjectState, Term};
use crate::select::Selection;

/// A filter of objects: a selection, in one namespace or in all.
#[derive(Clone)]
pub(crate) struct ObjectFilter {
    pub(crate) selection: Selection,
    pub(crate) namespace: Option<Arc<str>>,
}

/// The place of a filter in the index.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum IndexPlacement<'a> {
    /// Under these terms: every matching object has one of them.
    Under(Vec<Term<'a>>),
    /// No term narrows the filter: every object of the namespace, or of all, is examined.
    Everywhere(Term<'a>),
}

/// A larger set is not indexed by each of its values.
const FEW: usize = 64;

impl ObjectFilter {
    /// Returns whether an object matches.
    pub(crate) fn sees(&self, state: &ObjectState) -> bool {
        self.namespace.as_deref().is_none_or(|filter| self.names(state).0 == Some(filter))
            && self.selection.sees_state(state)
    }

    /// Returns the most selective term: a name, else a field, else a label.
    pub(crate) fn placement(&self) -> IndexPlacement<'_> {
        let fields = &self.selection.fields;
        let namespace = self.namespace.as_deref().or_else(|| fields.exactly(NAMESPACE));
        let namespace = namespace.filter(|namespace| !namespace.is_empty());
        if let Some(name) = fields.exactly(NAME) {
            return IndexPlacement::Under(vec![Term::Name(namespace, name)]);
        }
        let selectable = &self.selection.kind.selectable;
        let field = fields.equalities().find_map(|(field, value)| {
            let at = selectable.iter().position(|selectable| selectable.field == field)?;
            Some(Term::Field(namespace, at, value))
        });
        if let Some(field) = field {
            return IndexPlacement::Under(vec![field]);
        }
        if let Some((key, value)) = self.selection.labels.equalities().next() {
            return IndexPlacement::Under(vec![Term::Label(namespace, key, value)]);
        }
        let sets = self.selection.labels.requirements().iter().filter_map(|requirement| {
            let LabelTest::In(values) = requirement.test() else { return None };
            Some((requirement.key(), values)).filter(|(_, values)| values.len() <= FEW)
        });
        let any_of = sets.min_by_key(|(_, values)| values.len()).map(|(key, values)| {
            values.iter().map(|value| Term::Label(namespace, key, value)).collect::<Vec<_>>()
        });
        match any_of {
            Some(terms) => IndexPlacement::Under(terms),
            None if self.is_a_namespace() => IndexPlacement::Under(vec![Term::Any(namespace)]),
            None => IndexPlacement::Everywhere(Term::Any(namespace)),
        }
    }

    /// Returns whether the filter is a namespace only.
    fn is_a_namespace(&self) -> bool {
        let Selection { labels, fields, .. } = &self.selection;
        labels.is_everything()
            && fields.terms().iter().all(|term| term.field() == NAMESPACE && term.is_equality())
    }

    fn names<'s>(&self, state: &'s ObjectState) -> (Option<&'s str>, &'s str) {
        self.selection.kind.place.names(&state.entry.key)
    }
}

/// The field that the keys of an interest are compared with.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum KeyField {
    Name,
    Namespace,
    Label(Arc<str>),
    /// A selectable field by index.
    Field(usize),
}

impl KeyField {
    /// Returns the term of one key.
    pub(crate) fn term<'a>(&'a self, namespace: Option<&'a str>, key: &'a str) -> Term<'a> {
        match self {
            Self::Name => Term::Name(namespace, key),
            Self::Namespace => Term::Any(Some(key)),
            Self::Label(label) => Term::Label(namespace, label, key),
            Self::Field(at) => Term::Field(namespace, *at, key),
        }
    }

    /// Returns the key of an object.
    pub(crate) fn of<'s>(&self, filter: &ObjectFilter, state: &'s ObjectState) -> Option<&'s str> {
        match self {
            Self::Name => Some(filter.names(state).1),
            Self::Namespace => filter.names(state).0,
            Self::Label(label) => state.labels()?.get(label),
            Self::Field(at) => state.field(*at),
        }
    }
}
