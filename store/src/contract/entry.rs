//! What is stored, and how it changes.

use std::sync::Arc;

use machinery_objects::Revision;

use super::key::{Key, Value};

/// A key's state from one revision until it is put again or deleted.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Entry {
    /// Its name.
    pub key: Key,
    /// What was put.
    pub value: Value,
    /// The revision that put the key when it was absent.
    pub created: Revision,
    /// The revision that put this value.
    pub modified: Revision,
}

/// What one revision did to one key.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Event {
    /// The key's state before, if it had one.
    pub before: Option<Arc<Entry>>,
    /// What became of it.
    pub change: Change,
}

/// What became of a key.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Change {
    /// It has this state now. It was created if [`Event::before`] is none.
    Put(Arc<Entry>),
    /// It is gone; [`Event::before`] is its last state.
    Deleted(Key),
}

impl Event {
    /// Whose state changed.
    #[must_use]
    pub fn key(&self) -> &Key {
        match &self.change {
            Change::Put(entry) => &entry.key,
            Change::Deleted(key) => key,
        }
    }

    /// The state after, if there is one.
    #[must_use]
    pub fn after(&self) -> Option<&Arc<Entry>> {
        match &self.change {
            Change::Put(entry) => Some(entry),
            Change::Deleted(_) => None,
        }
    }

    /// Whether the key was absent before.
    #[must_use]
    pub fn is_create(&self) -> bool {
        self.before.is_none() && matches!(self.change, Change::Put(_))
    }
}
