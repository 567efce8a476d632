//! A change of a cache, as it is published and as a handler receives it.

use machinery_objects::{Bookmark, Event, LeaveReason};

/// One change of a cache, sent to each handler.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Notification<N, T> {
    /// The key that changed.
    pub key: N,
    /// The state in the cache before the change.
    pub before: Option<T>,
    /// The change.
    pub change: Change<T>,
}

/// The new state of a key.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Change<T> {
    /// The object exists, in this state.
    Present {
        /// The object.
        object: T,
        /// Whether it is part of the initial list.
        initial: bool,
    },
    /// The object was removed from the cache.
    Removed {
        /// The last known state: the tombstone.
        last: T,
        /// The reason.
        removal: Removal,
    },
}

/// The reason for the removal of an object from a cache. With the last state it is client-go's
/// tombstone.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Removal {
    /// The object was deleted.
    Deleted {
        /// Whether the source sent the deletion with the last state. False where a relist found the
        /// object missing: "final state unknown", client-go's `DeletedFinalStateUnknown`.
        final_state_known: bool,
    },
    /// The object left the filter, or its key was released; it may still exist.
    Left(LeaveReason),
}

/// The changes of a cache that one event covers.
///
/// With it a controller tells its own write from a foreign one that a coalesced event hides.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Steps {
    /// Number of coalesced changes, at least one.
    pub changes: u32,
    /// Each of them was an event of a watch, so the cache held every version of the object between
    /// the two states. False if one came from a list, which skips versions.
    pub unbroken: bool,
}

impl Steps {
    /// One event of a watch.
    pub const ONE: Self = Self { changes: 1, unbroken: true };
    /// A change found by a list.
    pub const LISTED: Self = Self { changes: 1, unbroken: false };

    /// Returns the steps of this event and a later one together.
    #[must_use]
    pub const fn and(self, later: Self) -> Self {
        Self {
            changes: self.changes.saturating_add(later.changes),
            unbroken: self.unbroken && later.unbroken,
        }
    }
}

/// An item of a handler's queue.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Delivery<N, T> {
    /// A change of the object with this key.
    Event(N, Event<T>),
    /// The handler has received all events before this mark.
    Mark(Bookmark),
}

impl<T> Change<T> {
    /// Returns the current or last known state.
    pub(super) fn into_object(self) -> T {
        match self {
            Self::Present { object, .. } | Self::Removed { last: object, .. } => object,
        }
    }
}
