//! Events of an object: from a source to its watchers, and from a cache to its handlers.

use crate::{EditNumber, ResourceVersion, Unreadable};

/// An event of a watch, in the order of the source's commits.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum WatchEvent<O> {
    /// The object was created, or is newly selected.
    Added(O),
    /// A selected object was modified.
    Modified(O),
    /// The object was deleted: its last selected state, with the version of the deletion.
    ///
    /// From a source without [`Capabilities::reports_left`](crate::Capabilities::reports_left) the
    /// object may also exist, and no longer be selected.
    Deleted(O),
    /// The object exists and is no longer selected: its last selected state, with the version of
    /// that change.
    Left(O),
    /// An object changed, and the source cannot decode it.
    Unreadable(Unreadable),
    /// All events up to this version have been sent (Kubernetes: `BOOKMARK`).
    Bookmark {
        /// The version to resume from.
        version: ResourceVersion,
        /// Whether the initial state of the watch is complete. At most once per watch.
        initial_state_ends: bool,
    },
    /// The state of the keys that an edit added is complete, and no more events of the removed keys
    /// follow.
    Complete {
        /// The number of the edit; all earlier ones are complete too.
        edit: EditNumber,
        /// All events up to this version have been sent.
        version: ResourceVersion,
    },
}

impl<O> WatchEvent<O> {
    /// Maps the object of the event.
    pub fn map<P>(self, view: impl FnOnce(O) -> P) -> WatchEvent<P> {
        match self {
            Self::Added(object) => WatchEvent::Added(view(object)),
            Self::Modified(object) => WatchEvent::Modified(view(object)),
            Self::Deleted(object) => WatchEvent::Deleted(view(object)),
            Self::Left(object) => WatchEvent::Left(view(object)),
            Self::Unreadable(unreadable) => WatchEvent::Unreadable(unreadable),
            Self::Bookmark { version, initial_state_ends } => {
                WatchEvent::Bookmark { version, initial_state_ends }
            }
            Self::Complete { edit, version } => WatchEvent::Complete { edit, version },
        }
    }
}

/// An event of a cached object, for a handler. Each event leads from the last state that the
/// handler received to a newer one; intermediate states are skipped.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Event<T> {
    /// The cache holds an object that is new to the handler.
    Added {
        /// The object.
        object: T,
        /// Whether the object was in the cache when the handler was registered, or in the initial
        /// list.
        initial: bool,
    },
    /// The object differs from the last state that the handler received.
    ///
    /// If the UIDs differ, the object was deleted and created again meanwhile. The UIDs may also be
    /// equal although the cache had dropped the object in between.
    Updated {
        /// The last state that the handler received.
        old: T,
        /// The current state.
        object: T,
    },
    /// The object was deleted: its tombstone, with the last known state.
    Deleted {
        /// The last state that the cache held.
        last: T,
        /// Whether the source reported the deletion. If not (client-go:
        /// `DeletedFinalStateUnknown`), a relist did not contain the object: its final state is
        /// unknown, and under a selector it may still exist.
        final_state_known: bool,
    },
    /// The object left the cache and may still exist. Not a tombstone: release local state for the
    /// object, but destroy nothing.
    Left {
        /// The last state that the cache held.
        last: T,
        /// The reason.
        because: LeaveReason,
    },
}

/// The reason for which an object left a cache without a tombstone: it may still exist.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum LeaveReason {
    /// The object was modified, and is no longer selected.
    Changed,
    /// The cache no longer has an interest in its key.
    Released,
}

/// The progress of a cache, sent to handlers between events and in order with them.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Bookmark {
    /// All events of the initial list have been delivered.
    Synced,
    /// All events up to this version have been delivered.
    Progress(ResourceVersion),
    /// All events under the keys of this edit have been delivered.
    Complete(EditNumber),
}

impl<T> Event<T> {
    /// Returns the current state, or the last known one.
    pub const fn object(&self) -> &T {
        match self {
            Self::Added { object, .. } | Self::Updated { object, .. } => object,
            Self::Deleted { last, .. } | Self::Left { last, .. } => last,
        }
    }

    /// Returns whether the cache holds the object after the event.
    pub const fn is_present(&self) -> bool {
        matches!(self, Self::Added { .. } | Self::Updated { .. })
    }
}
