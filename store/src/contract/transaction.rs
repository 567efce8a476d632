//! Several changes that happen together, if what they rest on still holds.

use std::sync::Arc;

use machinery_objects::Revision;

use super::entry::Entry;
use super::key::{Key, Value};

/// Puts and deletes that take one revision together, or have no effect at all.
///
/// A key is put or deleted at most once in it. It may be in any number of conditions. The conditions are about the state
/// before the transaction. A transaction that changes nothing (no operation, or only deletes of absent keys) takes no
/// revision.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Transaction {
    /// What must hold, all of it.
    pub conditions: Vec<Condition>,
    /// What is done then, in this order within the revision.
    pub operations: Vec<Operation>,
}

/// What must hold for a transaction to happen.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Condition {
    /// The key has no entry.
    Absent(Key),
    /// The key's entry was put by this revision.
    At(Key, Revision),
    /// The key is as it was at this revision: the same entry, or absent as it was then. If that revision is compacted and
    /// what the key was then is not known any more, the condition does not hold; nor does it if that revision has not happened.
    Unchanged(Key, Revision),
}

/// One change.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Operation {
    /// The key has this value from now on. It takes a revision even if the value is what it was.
    Put(Key, Value),
    /// The key has no entry from now on.
    Delete(Key),
}

/// What a transaction did.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Commit {
    /// Its revision; the store's newest, if it changed nothing.
    pub revision: Revision,
    /// Whether it changed anything.
    pub changed: bool,
    /// For each operation the entry that was there before.
    pub before: Vec<Option<Arc<Entry>>>,
}

impl Transaction {
    /// No condition, no operation.
    #[must_use]
    pub fn new() -> Self {
        Self::default()
    }

    /// Only if `key` has no entry.
    #[must_use]
    pub fn if_absent(self, key: impl Into<Key>) -> Self {
        self.when(Condition::Absent(key.into()))
    }

    /// Only if the entry of `key` was put by `revision`.
    #[must_use]
    pub fn if_at(self, key: impl Into<Key>, revision: Revision) -> Self {
        self.when(Condition::At(key.into(), revision))
    }

    /// Only if `key` is as it was at `revision`.
    #[must_use]
    pub fn if_unchanged(self, key: impl Into<Key>, revision: Revision) -> Self {
        self.when(Condition::Unchanged(key.into(), revision))
    }

    /// Only if `condition` holds.
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
    /// Whose state it is about.
    #[must_use]
    pub const fn key(&self) -> &Key {
        match self {
            Self::Absent(key) | Self::At(key, _) | Self::Unchanged(key, _) => key,
        }
    }
}

impl Operation {
    /// Whose state it changes.
    #[must_use]
    pub const fn key(&self) -> &Key {
        match self {
            Self::Put(key, _) | Self::Delete(key) => key,
        }
    }
}
