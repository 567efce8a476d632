//! The edits of an interest: validation, order and merging. No clock, no lock.

use std::sync::Arc;

use machinery_objects::InterestEdit;

use super::keys::KeySet;
use crate::server::Limits;

/// Limits of the number and length of keys.
#[derive(Clone, Copy, Debug)]
pub(crate) struct KeyLimits {
    pub(crate) keys: usize,
    pub(crate) key_bytes: usize,
}

/// The keys of one interest, and the edits not yet applied by its stream.
pub(super) struct Edits {
    /// The keys after all accepted edits.
    keys: KeySet,
    last: EditId,
    pending: Option<PendingEdits>,
    bounds: KeyLimits,
}

/// Identifies an edit, to detect a retry.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct EditId {
    pub(super) number: u64,
    pub(super) digest: [u8; 32],
}

/// All accepted edits not yet applied by the stream, merged.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct PendingEdits {
    /// Number of the last edit.
    pub(super) number: u64,
    pub(super) remove: KeySet,
    /// May contain removed keys; the objects under these are sent again.
    pub(super) add: KeySet,
}

/// The reason why an edit was rejected. It changed nothing.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum InvalidEdit {
    /// The number is neither the next one nor that of a retry of the last edit.
    Order {
        expected: u64,
    },
    /// Number of keys after the edit.
    TooMany {
        count: usize,
        limit: usize,
    },
    TooLong {
        field: &'static str,
        limit: usize,
    },
    /// A key is the empty string.
    Empty {
        field: &'static str,
    },
}

impl KeyLimits {
    pub(crate) const fn of(limits: &Limits) -> Self {
        Self { keys: limits.interest_keys, key_bytes: limits.interest_key_bytes }
    }
}

impl Edits {
    /// Opens with the initial keys as edit 0. `resumes`: the client knows their objects.
    pub(super) fn open(
        keys: &InterestEdit,
        resumes: bool,
        digest: [u8; 32],
        bounds: KeyLimits,
    ) -> Result<Self, InvalidEdit> {
        let last = EditId { number: 0, digest };
        let mut edits = Self { keys: KeySet::default(), last, pending: None, bounds };
        edits.check(keys)?;
        edits.change(0, keys);
        if resumes {
            // Only the mark: the client has the objects, and receives the changes since as events.
            edits.pending = Some(PendingEdits::default());
        }
        Ok(edits)
    }

    /// Applies an edit; `false` if it is a retry of the last one.
    pub(super) fn edit(&mut self, edit: EditId, change: &InterestEdit) -> Result<bool, InvalidEdit> {
        let is_new = self.admits(edit, change)?;
        if is_new {
            self.change(edit.number, change);
            self.last = edit;
        }
        Ok(is_new)
    }

    /// Validates an edit without applying it; `false` if it is a retry.
    pub(super) fn admits(&self, edit: EditId, change: &InterestEdit) -> Result<bool, InvalidEdit> {
        // A client that received no answer repeats its edit, and gets the same answer.
        if edit == self.last {
            return Ok(false);
        }
        let expected = self.next();
        if edit.number != expected {
            return Err(InvalidEdit::Order { expected });
        }
        self.check(change)?;
        Ok(true)
    }

    /// Number of the next edit.
    pub(super) const fn next(&self) -> u64 {
        self.last.number + 1
    }

    /// Takes the edits for the stream to apply.
    pub(super) fn take(&mut self) -> Option<PendingEdits> {
        self.pending.take()
    }

    /// Clears everything; returns the memory to drop.
    pub(super) fn forget(&mut self) -> impl Sized + use<> {
        (std::mem::take(&mut self.keys), self.pending.take())
    }

    /// Approximate memory in bytes.
    pub(super) fn cost(&self) -> usize {
        self.keys.cost() + self.pending.as_ref().map_or(0, |pending| pending.remove.cost())
    }

    fn check(&self, change: &InterestEdit) -> Result<(), InvalidEdit> {
        let KeyLimits { keys: limit, key_bytes } = self.bounds;
        for (field, keys) in [("remove", &change.remove), ("add", &change.add)] {
            if keys.contains("") {
                return Err(InvalidEdit::Empty { field });
            }
            if keys.iter().any(|key| key.len() > key_bytes) {
                return Err(InvalidEdit::TooLong { field, limit: key_bytes });
            }
        }
        let gone = |key: &Arc<str>| change.remove.contains(key);
        let removed = change.remove.iter().filter(|key| self.keys.contains(key)).count();
        let added = change.add.iter().filter(|key| gone(key) || !self.keys.contains(key)).count();
        let count = self.keys.len() - removed + added;
        if count > limit { Err(InvalidEdit::TooMany { count, limit }) } else { Ok(()) }
    }

    fn change(&mut self, number: u64, change: &InterestEdit) {
        // Merged, not queued: the keys bound the memory, and no edit is refused for a full queue.
        let pending = self.pending.get_or_insert_default();
        pending.number = number;
        for key in &change.remove {
            // A key that the stream has not added yet is not removed from it.
            if self.keys.remove(key) && !pending.add.remove(key) {
                pending.remove.insert(key);
            }
        }
        for key in &change.add {
            if self.keys.insert(key) {
                pending.add.insert(key);
            }
        }
    }
}

#[cfg(test)]
mod tests;
