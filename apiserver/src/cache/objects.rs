//! The objects of a kind, indexed by label, field and guard, with consistent views.

use std::sync::Arc;

use machinery_objects::Revision;
use machinery_snapshot::{Index, Label, Map, Snapshot};
use machinery_store::{Entry, Key};

use super::filter::IndexPlacement;
use super::{KeyField, ObjectFilter, ObjectState, Term};

/// The objects at the newest revision.
pub(super) struct IndexedObjects {
    map: Map<Key, Arc<ObjectState>>,
    indexes: Arc<Indexes>,
}

struct Indexes {
    keys: Index<Key>,
    labels: Index<Label>,
    /// One index per selectable field, in the kind's order.
    fields: Box<[Index<Arc<str>>]>,
    guards: Index<Arc<str>>,
}

/// The objects of a kind at one revision.
#[derive(Clone)]
pub(crate) struct View {
    /// The revision: all commits up to it are included, and no later ones.
    pub(crate) at: Revision,
    snapshot: Snapshot<Key, Arc<ObjectState>>,
    indexes: Arc<Indexes>,
}

impl IndexedObjects {
    /// Creates the map of a kind with `fields` selectable fields.
    pub(super) fn new(fields: usize, seed: u64, states: impl IntoIterator<Item = ObjectState>) -> Self {
        let mut builder = Map::<Key, Arc<ObjectState>>::builder(seed);
        let indexes = Indexes {
            keys: builder.keys(),
            labels: builder.index(|_, state: &Arc<ObjectState>| {
                let labels = state.labels().into_iter().flat_map(|labels| labels.iter());
                labels.map(Label::from).collect::<Vec<_>>()
            }),
            fields: (0..fields)
                .map(|at| builder.text(move |_, state| state.field(at).filter(|value| !value.is_empty())))
                .collect(),
            guards: builder.index(|_, state: &Arc<ObjectState>| state.guards().to_vec()),
        };
        let map = builder.build();
        let mut writer = map.write();
        writer.clear();
        for state in states {
            writer.insert(state.entry.key.clone(), Arc::new(state));
        }
        writer.commit();
        Self { map, indexes: Arc::new(indexes) }
    }

    /// Inserts or removes objects; returns their previous states.
    pub(super) fn change<'a>(
        &self,
        changes: impl Iterator<Item = (&'a Key, Option<Arc<ObjectState>>)>,
    ) -> Vec<Option<Arc<ObjectState>>> {
        let mut writer = self.map.write();
        let before = changes.map(|(key, state)| match state {
            Some(state) => writer.insert(key.clone(), state),
            None => writer.remove(key),
        });
        let before = before.collect();
        writer.commit();
        before
    }

    pub(super) fn view(&self, at: Revision) -> View {
        View { at, snapshot: self.map.snapshot(), indexes: self.indexes.clone() }
    }
}

/// The result of a selection, up to a limit.
pub(crate) struct SelectedObjects {
    /// In key order.
    pub(crate) entries: Vec<Arc<Entry>>,
    /// The number of further objects; a lower bound unless everything is selected.
    pub(crate) more: usize,
}

impl View {
    /// Returns the selected objects in key order, up to a limit.
    pub(crate) fn select(&self, filter: &ObjectFilter, limit: Option<usize>) -> SelectedObjects {
        let limit = limit.unwrap_or(usize::MAX);
        let namespace = match filter.placement() {
            IndexPlacement::Everywhere(Term::Any(namespace)) => namespace,
            IndexPlacement::Under(terms) => match terms[..] {
                [Term::Any(namespace)] => namespace,
                _ => return self.found_under(filter, &terms, limit),
            },
            IndexPlacement::Everywhere(_) => None,
        };
        let start = filter.selection.kind.place.start(namespace);
        let everything = filter.selection.is_everything();
        let all = self.snapshot.prefix(&self.indexes.keys, &start).map(|(_, state)| state);
        let mut states = all.filter(|state| everything || filter.sees(state));
        let entries: Vec<_> = states.by_ref().take(limit).map(|state| state.entry.clone()).collect();
        let more = match entries.len() < limit {
            true => 0,
            false if everything => states.count(),
            // After a scan it suffices to know that there are more.
            false => states.take(1).count(),
        };
        SelectedObjects { entries, more }
    }

    fn found_under(&self, filter: &ObjectFilter, terms: &[Term<'_>], limit: usize) -> SelectedObjects {
        let mut states: Vec<&Arc<ObjectState>> = Vec::new();
        for term in terms {
            self.each(filter, term, |state| states.extend(filter.sees(state).then_some(state)));
        }
        // No duplicates: several terms are values of one label, of which an object has one.
        states.sort_unstable_by(|a, b| a.entry.key.cmp(&b.entry.key));
        let entries: Vec<_> = states.iter().take(limit).map(|state| state.entry.clone()).collect();
        let more = states.len() - entries.len();
        SelectedObjects { entries, more }
    }

    /// Returns the selected objects under one key of an interest.
    pub(crate) fn under<'s>(
        &'s self,
        filter: &ObjectFilter,
        by: &KeyField,
        key: &str,
    ) -> Vec<&'s Arc<ObjectState>> {
        let mut states = Vec::new();
        self.each(filter, &by.term(filter.namespace.as_deref(), key), |state| {
            if filter.sees(state) && by.of(filter, state) == Some(key) {
                states.push(state);
            }
        });
        states
    }

    /// Returns the objects under a guard key.
    pub(crate) fn guarded<'s>(&'s self, guard: &str) -> impl Iterator<Item = &'s Arc<ObjectState>> {
        self.snapshot.by(&self.indexes.guards, guard).map(|(_, state)| state)
    }

    /// Counts the objects under a key prefix that `counts` accepts, up to `limits`.
    pub(crate) fn count(&self, start: &str, limits: u64, counts: impl Fn(&ObjectState) -> bool) -> u64 {
        let limits = usize::try_from(limits).unwrap_or(usize::MAX);
        let all = self.snapshot.prefix(&self.indexes.keys, start).filter(|(_, state)| counts(state));
        all.take(limits).count() as u64
    }

    /// Folds the objects under a key prefix.
    pub(crate) fn fold<T>(&self, start: &str, first: T, each: impl Fn(T, &ObjectState) -> T) -> T {
        self.snapshot.prefix(&self.indexes.keys, start).fold(first, |sum, (_, state)| each(sum, state))
    }

    /// Returns the object with this key.
    pub(crate) fn get(&self, key: &Key) -> Option<&Arc<ObjectState>> {
        self.snapshot.get(key)
    }

    /// Calls `each` with all objects that have a term, and possibly with others.
    fn each<'s>(
        &'s self,
        filter: &ObjectFilter,
        term: &Term<'_>,
        mut each: impl FnMut(&'s Arc<ObjectState>),
    ) {
        let place = &filter.selection.kind.place;
        match *term {
            Term::Name(namespace, name) if namespace.is_some() || !filter.selection.kind.namespaced => {
                self.get(&place.key(namespace, name)).into_iter().for_each(each);
            }
            Term::Any(namespace) | Term::Name(namespace, _) => {
                let start = place.start(namespace);
                self.snapshot.prefix(&self.indexes.keys, &start).for_each(|(_, state)| each(state));
            }
            Term::Label(_, key, value) => {
                self.snapshot
                    .by(&self.indexes.labels, &Label::new(key, value))
                    .for_each(|(_, state)| each(state));
            }
            Term::Field(_, at, value) => {
                let index = self.indexes.fields.get(at);
                let states = index.into_iter().flat_map(|index| self.snapshot.by(index, value));
                states.for_each(|(_, state)| each(state));
            }
        }
    }
}
