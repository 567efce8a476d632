//! Which edits are accepted, and what they come to: no clock, no lock.

use std::sync::Arc;

use machinery_objects::InterestEdit;

use super::keys::Keys;
use crate::server::Limits;

/// How many keys there may be, and how long.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Bounds {
    pub(crate) keys: usize,
    pub(crate) key_bytes: usize,
}

/// The keys of one interest, and what its stream has not come to yet.
pub(super) struct Edits {
    /// As they are after all edits that were accepted.
    keys: Keys,
    last: Edit,
    pending: Option<Pending>,
    bounds: Bounds,
}

/// What an edit is known by when it comes a second time.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Edit {
    pub(super) number: u64,
    pub(super) digest: [u8; 32],
}

/// All accepted edits that the stream has not come to, as one.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct Pending {
    /// Of the last of them.
    pub(super) number: u64,
    pub(super) remove: Keys,
    /// Some of them may be among those that are removed: they are told anew.
    pub(super) add: Keys,
}

/// Why an edit is not accepted. It has changed nothing.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Wrong {
    /// It has not the number that comes next, nor is it the last one again.
    Order {
        expected: u64,
    },
    /// There would be so many keys.
    TooMany {
        count: usize,
        limit: usize,
    },
    TooLong {
        field: &'static str,
        limit: usize,
    },
    /// An empty key.
    Empty {
        field: &'static str,
    },
}

impl Bounds {
    pub(crate) const fn of(limits: &Limits) -> Self {
        Self { keys: limits.interest_keys, key_bytes: limits.interest_key_bytes }
    }
}

impl Edits {
    /// The first keys are edit 0. `resumes`: what is under them is known already.
    pub(super) fn open(
        keys: &InterestEdit,
        resumes: bool,
        digest: [u8; 32],
        bounds: Bounds,
    ) -> Result<Self, Wrong> {
        let last = Edit { number: 0, digest };
        let mut edits = Self { keys: Keys::default(), last, pending: None, bounds };
        edits.check(keys)?;
        edits.change(0, keys);
        if resumes {
            edits.pending = Some(Pending::default());
        }
        Ok(edits)
    }

    /// Accepts an edit. `false`: it is the last one again, and was accepted before.
    pub(super) fn edit(&mut self, edit: Edit, change: &InterestEdit) -> Result<bool, Wrong> {
        let is_new = self.admits(edit, change)?;
        if is_new {
            self.change(edit.number, change);
            self.last = edit;
        }
        Ok(is_new)
    }

    /// Whether it would be accepted now; `false`: it was before.
    pub(super) fn admits(&self, edit: Edit, change: &InterestEdit) -> Result<bool, Wrong> {
        if edit == self.last {
            return Ok(false);
        }
        let expected = self.next();
        if edit.number != expected {
            return Err(Wrong::Order { expected });
        }
        self.check(change)?;
        Ok(true)
    }

    /// The number of the next edit.
    pub(super) const fn next(&self) -> u64 {
        self.last.number + 1
    }

    /// What the stream is to do now.
    pub(super) fn take(&mut self) -> Option<Pending> {
        self.pending.take()
    }

    /// Keeps nothing of all this.
    pub(super) fn forget(&mut self) -> impl Sized + use<> {
        (std::mem::take(&mut self.keys), self.pending.take())
    }

    /// About how many bytes of memory all this takes.
    pub(super) fn cost(&self) -> usize {
        self.keys.cost() + self.pending.as_ref().map_or(0, |pending| pending.remove.cost())
    }

    fn check(&self, change: &InterestEdit) -> Result<(), Wrong> {
        let Bounds { keys: limit, key_bytes } = self.bounds;
        for (field, keys) in [("remove", &change.remove), ("add", &change.add)] {
            if keys.contains("") {
                return Err(Wrong::Empty { field });
            }
            if keys.iter().any(|key| key.len() > key_bytes) {
                return Err(Wrong::TooLong { field, limit: key_bytes });
            }
        }
        let gone = |key: &Arc<str>| change.remove.contains(key);
        let removed = change.remove.iter().filter(|key| self.keys.contains(key)).count();
        let added = change.add.iter().filter(|key| gone(key) || !self.keys.contains(key)).count();
        let count = self.keys.len() - removed + added;
        if count > limit { Err(Wrong::TooMany { count, limit }) } else { Ok(()) }
    }

    fn change(&mut self, number: u64, change: &InterestEdit) {
        let pending = self.pending.get_or_insert_default();
        pending.number = number;
        for key in &change.remove {
            // What the stream has not come to add, it need not remove.
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
