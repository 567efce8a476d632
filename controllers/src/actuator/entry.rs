//! The state of one item.

use super::ItemFailure;

/// The state of one item: desired, found, and the way between them. Pure.
#[derive(Clone, Debug)]
pub(super) struct Entry<I, E> {
    /// The item that a caller requested; `None` if it is to be deleted, or unclaimed.
    pub(super) desired: Option<I>,
    /// The item that exists, or that a failed change may have left.
    pub(super) found: Option<I>,
    /// Found at start, and neither claimed nor disowned so far: kept as it is.
    pub(super) is_unclaimed: bool,
    /// Found at start, and disowned.
    pub(super) is_orphan: bool,
    /// Whether the item may differ from `found`, or does not work.
    pub(super) is_dirty: bool,
    /// Whether the item was in a batch that hung or panicked: its changes are applied alone.
    pub(super) is_suspect: bool,
    pub(super) is_in_flight: bool,
    pub(super) failure: Option<ItemFailure<E>>,
    /// Number of comparisons in a row that found the item changed by others.
    pub(super) repairs: u32,
    /// Time of the last event, on the ledger's own clock.
    pub(super) stamp: u64,
}

impl<I: Clone + PartialEq, E> Entry<I, E> {
    pub(super) const fn new(desired: Option<I>, found: Option<I>) -> Self {
        Self {
            desired,
            found,
            is_unclaimed: false,
            is_orphan: false,
            is_dirty: false,
            is_suspect: false,
            is_in_flight: false,
            failure: None,
            repairs: 0,
            stamp: 0,
        }
    }

    /// Returns the item to be kept: the desired one, or one that nobody has claimed yet.
    pub(super) const fn kept(&self) -> Option<&I> {
        if self.is_unclaimed { self.found.as_ref() } else { self.desired.as_ref() }
    }

    /// Returns whether a change is due.
    pub(super) fn is_due(&self) -> bool {
        self.is_dirty || (!self.is_unclaimed && self.desired != self.found)
    }

    /// Returns whether the entry says nothing any more.
    pub(super) fn is_over(&self) -> bool {
        self.desired.is_none() && self.found.is_none() && !self.is_dirty && !self.is_in_flight
    }

    /// Returns whether no attempt is in flight or due, and none was since a time: only then a view
    /// of the port from that time says something about the item.
    pub(super) fn is_quiet_since(&self, stamp: u64) -> bool {
        !self.is_in_flight && self.stamp <= stamp
    }
}
