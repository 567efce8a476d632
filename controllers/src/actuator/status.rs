//! The state of an actuator and of its items, as callers see it.

use std::collections::BTreeMap;
use std::fmt;

use super::{ItemFailure, PortFailure};

/// The state of an [`Actuator`](super::Actuator), as of one moment.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct ActuatorStatus<K: Ord, I, E> {
    /// Whether the existing items were listed.
    pub is_loaded: bool,
    /// The reason why the port is degraded; `None` while it works.
    pub failure: Option<PortFailure<E>>,
    /// Number of items that are kept: desired, or unclaimed.
    pub items: usize,
    /// Number of items that existed at start, and are neither claimed nor disowned.
    pub unclaimed: usize,
    /// Number of disowned items that are not deleted yet.
    pub orphans: usize,
    /// Items that do not work, or cannot be deleted.
    pub broken: BTreeMap<K, BrokenItem<I, E>>,
    /// Numbers of repairs by kind. For ports that do not repair themselves the kinds are `missing`,
    /// `changed` and `undesired`.
    pub repairs: BTreeMap<&'static str, u64>,
}

/// An item that does not work, or cannot be deleted.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct BrokenItem<I, E> {
    /// The item.
    pub item: I,
    /// Whether it is to be deleted.
    pub is_leaving: bool,
    /// The reason. The item is retried after a back-off of its own.
    pub failure: ItemFailure<E>,
}

/// The state of one item.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum ItemState<I, E> {
    /// The item exists as desired.
    Ready(I),
    /// The item existed at start, and nobody has claimed it so far.
    Unclaimed(I),
    /// A change of the item is due or in flight.
    Pending,
    /// The last change failed, or the item does not work.
    Broken(ItemFailure<E>),
}

/// The differences that one repair removed, or that its changes are removing.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct RepairReport {
    /// Numbers by kind; without zeroes.
    pub changes: BTreeMap<&'static str, usize>,
}

impl RepairReport {
    /// Collects numbers by kind.
    pub(super) fn of(changes: impl IntoIterator<Item = (&'static str, usize)>) -> Self {
        Self { changes: changes.into_iter().filter(|(_, number)| *number > 0).collect() }
    }

    /// Returns the number of differences of all kinds.
    #[must_use]
    pub fn total(&self) -> usize {
        self.changes.values().sum()
    }
}

impl fmt::Display for RepairReport {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (index, (kind, number)) in self.changes.iter().enumerate() {
            write!(f, "{}{number} {kind}", if index == 0 { "" } else { ", " })?;
        }
        Ok(())
    }
}
