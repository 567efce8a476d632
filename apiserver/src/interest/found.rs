//! What is there under new keys, found as it is told: no list of it is kept.

use std::collections::VecDeque;
use std::sync::Arc;

use machinery_objects::Revision;
use machinery_store::Entry;

use super::keys::Keys;
use crate::cache::{By, View, Wanted};

/// What is found, key by key.
pub(super) struct Found {
    view: View,
    by: By,
    keys: std::collections::btree_set::IntoIter<Arc<str>>,
    entries: VecDeque<Arc<Entry>>,
    /// Which edit it is of.
    pub(super) number: u64,
}

/// So many keys are looked up before others have their turn.
const TURN: usize = 512;

impl Found {
    pub(super) fn new(view: View, by: By, wanted: &Wanted, keys: Keys, number: u64) -> Self {
        let mut entries = VecDeque::new();
        let mut keys = keys.into_set();
        if by == By::Name && wanted.namespace.is_none() && wanted.selection.kind.namespaced && keys.len() > 1
        {
            // No index has a name in any namespace: all objects are looked at once, and not once a key.
            let place = &wanted.selection.kind.place;
            let all = view.wanted(wanted, None).entries.into_iter();
            entries.extend(all.filter(|entry| keys.contains(place.names(&entry.key).1)));
            keys.clear();
        }
        Self { view, by, keys: keys.into_iter(), entries, number }
    }

    /// The next one. `Ok(None)`: that was all. `Err`: others have their turn.
    pub(super) fn next(&mut self, wanted: &Wanted) -> Result<Option<Arc<Entry>>, Turn> {
        for _ in 0..TURN {
            if let Some(entry) = self.entries.pop_front() {
                return Ok(Some(entry));
            }
            let Some(key) = self.keys.next() else { return Ok(None) };
            let found = self.view.under(wanted, &self.by, &key);
            self.entries.extend(found.into_iter().map(|state| state.entry.clone()));
        }
        Err(Turn)
    }

    pub(super) const fn at(&self) -> Revision {
        self.view.at
    }
}

/// It has taken long enough.
pub(super) struct Turn;
