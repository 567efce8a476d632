//! What happened to an object: as a source tells it, and as a cache tells its handlers.

use crate::{EditNumber, ResourceVersion, Unreadable};

/// What a watch yields, in the order of the source's commits.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum WatchEvent<O> {
    /// The object is there, and was not selected before.
    Added(O),
    /// The object was selected before, and is another now.
    Modified(O),
    /// The object is gone: its last selected state, with the version at which it went.
    ///
    /// From a source without [`Capabilities::reports_left`](crate::Capabilities::reports_left) it may also be there
    /// still, and no longer be selected.
    Deleted(O),
    /// The object is there, and is no longer selected: its last selected state, with the version at which it left.
    Left(O),
    /// Something became of an object, and the source cannot read what.
    Unreadable(Unreadable),
    /// Everything up to this version has been told.
    Bookmark {
        /// Resume from here.
        version: ResourceVersion,
        /// Whether the state at the beginning of the watch is now complete. At most once in a watch.
        initial_state_ends: bool,
    },
    /// The state under the keys that an edit of the interest added has been told, and nothing more comes under those
    /// that it removed.
    Complete {
        /// Which edit; all before it are complete too.
        edit: EditNumber,
        /// Everything up to this version has been told.
        version: ResourceVersion,
    },
}

impl<O> WatchEvent<O> {
    /// The same of another view of the object.
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

/// What a cache tells a handler of one object. Of what lies between two of them the handler is told nothing: each leads
/// from the state that it was told last to a newer one.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Event<T> {
    /// The cache has an object that the handler does not know.
    Added {
        /// The object.
        object: T,
        /// Whether it was there when the handler came, or when the cache began.
        initial: bool,
    },
    /// The object is another than the one that the handler was told last.
    ///
    /// It may be another of the same key altogether, deleted and made anew in between: then the UIDs differ. Or it is the
    /// same again, and was gone in between.
    Updated {
        /// As the handler was told last.
        old: T,
        /// As it is now.
        object: T,
    },
    /// The object is gone.
    Deleted {
        /// The last state that the cache had.
        last: T,
        /// Whether the source told of the deletion. If not, the object was missing when the cache listed anew: it may
        /// have been another in the end, and under a selector it may be there still.
        final_state_known: bool,
    },
    /// The cache no longer looks at the object, which may well be there: let go what was held for it here, destroy
    /// nothing.
    Left {
        /// The last state that the cache had.
        last: T,
        /// Who moved.
        because: LeaveReason,
    },
}

/// Why an object that may be there still is no longer in a cache.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum LeaveReason {
    /// The object changed, and is no longer selected.
    Changed,
    /// Nobody here is interested any more in where it is.
    Released,
}

/// What a cache tells a handler of itself, between events and in order with them.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Bookmark {
    /// The handler has been told of everything that was there at the beginning.
    Synced,
    /// The handler has been told of everything up to this version.
    Progress(ResourceVersion),
    /// The handler has been told of everything under the keys of this edit.
    Complete(EditNumber),
}

impl<T> Event<T> {
    /// The state that is, or the last one that was.
    pub const fn object(&self) -> &T {
        match self {
            Self::Added { object, .. } | Self::Updated { object, .. } => object,
            Self::Deleted { last, .. } | Self::Left { last, .. } => last,
        }
    }

    /// Whether the cache has the object after it.
    pub const fn is_present(&self) -> bool {
        matches!(self, Self::Added { .. } | Self::Updated { .. })
    }
}
