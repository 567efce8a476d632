//! What is there under new keys at one moment.

use std::collections::VecDeque;
use std::collections::btree_set;
use std::sync::Arc;

use machinery_objects::Revision;
use machinery_store::Entry;

use super::keys::Keys;
use crate::cache::{By, View, Wanted};

/// What is found. It keeps the objects under the keys as they were then, as a watch keeps the state that it begins with; the
/// view of all others is kept only until these are found.
pub(crate) struct Found {
    pub(super) at: Revision,
    /// Which edit it is of.
    pub(super) number: u64,
    by: By,
    rest: Option<Rest>,
    entries: VecDeque<Arc<Entry>>,
}

/// What is yet to be looked up, and where.
struct Rest {
    view: View,
    keys: btree_set::IntoIter<Arc<str>>,
}

/// So many keys are looked up before others have their turn.
const TURN: usize = 512;

impl Found {
    pub(crate) fn new(view: View, by: By, keys: Keys, number: u64) -> Self {
        let (at, entries) = (view.at, VecDeque::new());
        Self { at, number, by, rest: Some(Rest { view, keys: keys.into_set().into_iter() }), entries }
    }

    /// Looks up more keys, all of them before the first object is told. `false`: others have their turn first.
    pub(crate) fn gather(&mut self, wanted: &Wanted) -> bool {
        let Some(Rest { view, keys }) = &mut self.rest else { return true };
        for _ in 0..TURN {
            let Some(key) = keys.next() else {
                self.rest = None;
                return true;
            };
            let found = view.under(wanted, &self.by, &key);
            self.entries.extend(found.into_iter().map(|state| state.entry.clone()));
        }
        false
    }

    /// The next one.
    pub(crate) fn next(&mut self) -> Option<Arc<Entry>> {
        self.entries.pop_front()
    }
}
