//! Entries and the events that change them.

use std::sync::Arc;

use machinery_objects::Revision;

use super::key::{Key, Value};

/// A key's state from one revision until it is put again or deleted.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Entry {
    /// The key.
    pub key: Key,
    /// The value.
    pub value: Value,
    /// The revision that created the key.
    pub created: Revision,
    /// The revision of the last put.
    pub modified: Revision,
}

/// The change of one key by one revision.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Event {
    /// The previous entry, or `None` if the key was absent.
    pub before: Option<Arc<Entry>>,
    /// The change.
    pub change: Change,
}

/// A put or a delete.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Change {
    /// The key was put; [`Event::before`] is `None` if the put created it.
    Put(Arc<Entry>),
    /// The key was deleted; [`Event::before`] is its last state.
    Deleted(Key),
}

impl Event {
    /// Returns the changed key.
    #[must_use]
    pub fn key(&self) -> &Key {
        match &self.change {
            Change::Put(entry) => &entry.key,
            Change::Deleted(key) => key,
        }
    }

    /// Returns the new entry, or `None` for a delete.
    #[must_use]
    pub fn after(&self) -> Option<&Arc<Entry>> {
        match &self.change {
            Change::Put(entry) => Some(entry),
            Change::Deleted(_) => None,
        }
    }

    /// Returns whether the event created the key.
    #[must_use]
    pub fn is_create(&self) -> bool {
        self.before.is_none() && matches!(self.change, Change::Put(_))
    }
}
