//! Transactions: operations that are applied together if conditions hold.

use std::sync::Arc;

use machinery_objects::Revision;

use super::entry::Entry;
use super::key::{Key, Value};

/// Puts and deletes that take one revision together, or have no effect.
///
/// A transaction has at most one operation on a key, and any number of conditions on it. Conditions
/// are checked against the state before the transaction. A transaction that changes nothing (no
/// operations, or only deletes of absent keys) takes no revision.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Transaction {
    /// The conditions, all of which must hold.
    pub conditions: Vec<Condition>,
    /// The operations, in their order within the revision.
    pub operations: Vec<Operation>,
}

/// A condition of a transaction.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Condition {
    /// The key is absent.
    Absent(Key),
    /// The key's entry was last put at this revision.
    At(Key, Revision),
    /// The key is as it was at this revision: the same entry, or still or again absent. The
    /// condition fails if the revision is compacted and the key's state at it is no longer known,
    /// and if the revision is newer than the store's newest.
    Unchanged(Key, Revision),
}

/// A put or a delete of one key.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Operation {
    /// Sets the key's value. Takes a revision even if the value is unchanged.
    Put(Key, Value),
    /// Removes the key.
    Delete(Key),
}

/// The result of a transaction.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Commit {
    /// The transaction's revision, or the store's newest if nothing changed.
    pub revision: Revision,
    /// Whether the transaction changed anything.
    pub changed: bool,
    /// The previous entry of each operation's key.
    pub before: Vec<Option<Arc<Entry>>>,
}

impl Transaction {
    /// Returns an empty transaction.
    #[must_use]
    pub fn new() -> Self {
        Self::default()
    }

    /// Requires that `key` is absent.
    #[must_use]
    pub fn if_absent(self, key: impl Into<Key>) -> Self {
        self.when(Condition::Absent(key.into()))
    }

    /// Requires that the entry of `key` was last put at `revision`.
    #[must_use]
    pub fn if_at(self, key: impl Into<Key>, revision: Revision) -> Self {
        self.when(Condition::At(key.into(), revision))
    }

    /// Requires that `key` is as it was at `revision`.
    #[must_use]
    pub fn if_unchanged(self, key: impl Into<Key>, revision: Revision) -> Self {
        self.when(Condition::Unchanged(key.into(), revision))
    }

    /// Requires `condition`.
    #[must_use]
    pub fn when(mut self, condition: Condition) -> Self {
        self.conditions.push(condition);
        self
    }

    /// Puts `value` under `key`.
    #[must_use]
    pub fn put(mut self, key: impl Into<Key>, value: impl Into<Value>) -> Self {
        self.operations.push(Operation::Put(key.into(), value.into()));
        self
    }

    /// Deletes `key`.
    #[must_use]
    pub fn delete(mut self, key: impl Into<Key>) -> Self {
        self.operations.push(Operation::Delete(key.into()));
        self
    }
}

impl Condition {
    /// Returns the key of the condition.
    #[must_use]
    pub const fn key(&self) -> &Key {
        match self {
            Self::Absent(key) | Self::At(key, _) | Self::Unchanged(key, _) => key,
        }
    }
}

impl Operation {
    /// Returns the key of the operation.
    #[must_use]
    pub const fn key(&self) -> &Key {
        match self {
            Self::Put(key, _) | Self::Delete(key) => key,
        }
    }
}
