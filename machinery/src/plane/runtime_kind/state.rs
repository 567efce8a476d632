//! The state of a kind: unknown, absent or served.

use std::sync::Arc;

use machinery_objects::{Kind, ListWatch, ResourceVersion};

/// The state of a kind known by name.
pub(super) enum KindState<P> {
    /// The server was not reached yet.
    Unknown,
    /// No kind has the name.
    Absent {
        /// A version of the server at which it was absent, if known.
        at: Option<ResourceVersion>,
    },
    /// A kind is served.
    Served(CurrentKind<P>),
}

/// A served kind and the source of its objects.
pub(super) struct CurrentKind<P> {
    pub(super) kind: Kind,
    pub(super) source: Arc<dyn ListWatch<Arc<P>>>,
    /// Distinguishes kinds of one name that follow each other.
    pub(super) number: u64,
}

impl<P> KindState<P> {
    pub(super) const fn kind(&self) -> Option<&Kind> {
        match self {
            Self::Served(current) => Some(&current.kind),
            _ => None,
        }
    }

    pub(super) const fn is_unknown(&self) -> bool {
        matches!(self, Self::Unknown)
    }
}

impl<P> Clone for KindState<P> {
    fn clone(&self) -> Self {
        match self {
            Self::Unknown => Self::Unknown,
            Self::Absent { at } => Self::Absent { at: at.clone() },
            Self::Served(CurrentKind { kind, source, number }) => {
                Self::Served(CurrentKind { kind: kind.clone(), source: source.clone(), number: *number })
            }
        }
    }
}
