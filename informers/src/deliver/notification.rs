//! What happened to a key, as a cache says it, and as a handler hears it.

use machinery_objects::{Departure, Event, Mark};

/// One change of a cache, to be told to every handler.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Notification<N, T> {
    /// Of what.
    pub key: N,
    /// What the cache had until now.
    pub before: Option<T>,
    /// What became of it.
    pub change: Change<T>,
}

/// What became of a key.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Change<T> {
    /// It is there, as this.
    Present {
        /// The object.
        object: T,
        /// Whether it was there when the cache began.
        initial: bool,
    },
    /// It is not there any more.
    Removed {
        /// The last state that the cache had.
        last: T,
        /// How it went.
        removal: Removal,
    },
}

/// How an object went out of a cache.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Removal {
    /// It does not exist any more.
    Deleted {
        /// Whether the source told of it, or it was missing from a list.
        final_state_known: bool,
    },
    /// It may be there still.
    Left(Departure),
}

/// What a handler hears.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Delivery<N, T> {
    /// Something happened to this key.
    Event(N, Event<T>),
    /// How far the handler has come.
    Mark(Mark),
}

impl<T> Change<T> {
    /// The state that is, or the last one that was.
    pub(super) fn into_object(self) -> T {
        match self {
            Self::Present { object, .. } | Self::Removed { last: object, .. } => object,
        }
    }
}
