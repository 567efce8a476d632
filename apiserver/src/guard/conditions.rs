//! The conditions and operations that guards add to a commit.

use std::collections::BTreeSet;
use std::sync::Arc;

use machinery_store::{Condition, Operation, Value as Bytes};

use super::Guard;
use super::key::record;
use super::others::OtherObjects;
use crate::change::ObjectWrite;

/// Maximum conditions and operations per guard key: three for an added key, two for a removed one.
/// With more removed keys than fit, the change proceeds and the remaining records stay.
const PER_KEY: usize = 5;

/// The conditions and operations that guards add to a commit.
#[derive(Default)]
pub(crate) struct GuardConditions {
    pub(crate) conditions: Vec<Condition>,
    pub(crate) operations: Vec<Operation>,
}

/// The guard keys of an object before and after a write, each sorted.
pub(super) struct WrittenKeys {
    pub(super) before: BTreeSet<String>,
    pub(super) after: Vec<String>,
}

impl WrittenKeys {
    pub(super) fn is_empty(&self) -> bool {
        self.before.is_empty() && self.after.is_empty()
    }

    /// Returns the keys before and after; a key may be among them twice.
    pub(super) fn all(&self) -> impl Iterator<Item = &String> {
        self.before.iter().chain(&self.after)
    }

    /// Returns whether the object is under more keys than before.
    pub(super) fn gains(&self) -> bool {
        self.after.iter().any(|key| !self.before.contains(key))
    }
}

impl GuardConditions {
    /// Returns the conditions under which no write under these keys intervenes, and the operations
    /// that make this write visible to other writers under them.
    pub(super) fn of(
        change: &ObjectWrite<'_>,
        guards: &[Arc<dyn Guard>],
        keys: &WrittenKeys,
        others: &OtherObjects<'_>,
    ) -> Self {
        let WrittenKeys { before, after } = keys;
        let capacity = change.shared.limits.guard_keys.saturating_mul(PER_KEY);
        let left = before.iter().filter(|key| after.binary_search(key).is_err());
        let mut added = Self::default();
        // Current keys first: at the capacity only records of keys left behind are skipped.
        for key in after.iter().chain(left) {
            let record = record(change.kind, key);
            let other = others.under(guards, key).next().map(|(_, entry)| entry);
            // While an object that a view shows is unchanged, no write leaves the key empty, so no
            // record goes and comes unnoticed. The other object may also be older than the guard,
            // without a record. A condition on the object itself replaces it.
            let there = other.filter(|_| !before.contains(key));
            let is_left = other.is_some() || after.binary_search(key).is_ok();
            let so_far = added.conditions.len() + added.operations.len();
            if so_far + 2 + usize::from(there.is_some()) > capacity {
                break;
            }
            added.conditions.push(Condition::Unchanged(record.clone(), others.at));
            added.conditions.extend(there.map(|there| Condition::At(there.key.clone(), there.modified)));
            // The put of an empty value fails the commits of concurrent checks under this key.
            added.operations.push(match is_left {
                true => Operation::Put(record, Bytes::from(&b""[..])),
                false => Operation::Delete(record),
            });
        }
        added
    }
}
