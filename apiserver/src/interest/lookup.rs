//! Lookup of the objects under added keys at one revision.

use std::collections::VecDeque;
use std::collections::btree_set;
use std::sync::Arc;

use machinery_objects::Revision;
use machinery_store::Entry;

use super::keys::KeySet;
use crate::cache::{KeyField, ObjectFilter, View};

/// The objects under added keys. It holds them at the revision of the edit, like the initial state
/// of a watch; the view of all objects is dropped after the lookup.
pub(crate) struct KeyLookup {
    pub(super) at: Revision,
    /// Number of the edit.
    pub(super) number: u64,
    by: KeyField,
    rest: Option<Rest>,
    entries: VecDeque<Arc<Entry>>,
}

/// The keys not yet looked up, with the view to search.
struct Rest {
    view: View,
    keys: btree_set::IntoIter<Arc<str>>,
}

/// Number of keys to look up before yielding to other tasks.
const TURN: usize = 512;

impl KeyLookup {
    pub(crate) fn new(view: View, by: KeyField, keys: KeySet, number: u64) -> Self {
        let (at, entries) = (view.at, VecDeque::new());
        Self { at, number, by, rest: Some(Rest { view, keys: keys.into_set().into_iter() }), entries }
    }

    /// Looks up more keys; all of them before the first event. `false`: yield to other tasks first.
    pub(crate) fn gather(&mut self, filter: &ObjectFilter) -> bool {
        let Some(Rest { view, keys }) = &mut self.rest else { return true };
        for _ in 0..TURN {
            let Some(key) = keys.next() else {
                // Drops the view: with a slow client it would keep the former state of all objects.
                self.rest = None;
                return true;
            };
            let found = view.under(filter, &self.by, &key);
            self.entries.extend(found.into_iter().map(|state| state.entry.clone()));
        }
        false
    }

    /// Takes the next object.
    pub(crate) fn next(&mut self) -> Option<Arc<Entry>> {
        self.entries.pop_front()
    }
}
