//! The resourceVersion of an object.

use std::cmp::Ordering;
use std::fmt;
use std::sync::Arc;

use crate::Revision;

/// The version of an object or of a list, opaque to clients.
///
/// The text of any server is kept unchanged. A decimal number, as of our stores and of every
/// Kubernetes on etcd, costs no allocation and has a [`revision`](Self::revision). Two versions are
/// ordered if both have one; the order is meaningful only within one server.
#[derive(Clone, PartialEq, Eq, Hash)]
pub struct ResourceVersion(VersionText);

#[derive(Clone, PartialEq, Eq, Hash)]
enum VersionText {
    Number(Revision),
    /// Never the text of a revision, and never empty.
    Other(Arc<str>),
}

impl ResourceVersion {
    /// Creates a version from its text; `None` if empty, which in Kubernetes means absent.
    #[must_use]
    pub fn new(text: &str) -> Option<Self> {
        match text.parse() {
            _ if text.is_empty() => None,
            Ok(revision) => Some(Self(VersionText::Number(revision))),
            // A number in another form, such as `017`, stays a text: it has to round-trip.
            Err(_) => Some(Self(VersionText::Other(text.into()))),
        }
    }

    /// Returns the version as a revision, if it is a decimal number.
    #[must_use]
    pub const fn revision(&self) -> Option<Revision> {
        match self.0 {
            VersionText::Number(revision) => Some(revision),
            VersionText::Other(_) => None,
        }
    }
}

impl From<Revision> for ResourceVersion {
    fn from(revision: Revision) -> Self {
        Self(VersionText::Number(revision))
    }
}

impl PartialOrd for ResourceVersion {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        match (self.revision(), other.revision()) {
            (Some(ours), Some(theirs)) => Some(ours.cmp(&theirs)),
            // Texts have no order: Kubernetes calls them opaque.
            _ => (self == other).then_some(Ordering::Equal),
        }
    }
}

impl fmt::Display for ResourceVersion {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &self.0 {
            VersionText::Number(revision) => revision.fmt(f),
            VersionText::Other(text) => text.fmt(f),
        }
    }
}

impl fmt::Debug for ResourceVersion {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "ResourceVersion({self})")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn version(text: &str) -> ResourceVersion {
        ResourceVersion::new(text).expect("the text is not empty")
    }

    #[test]
    fn every_version_text_round_trips() {
        for text in ["0", "17", "017", "+1", "a:b,c", " ", "18446744073709551616", "ö"] {
            assert_eq!(version(text).to_string(), text);
        }
        assert_eq!(ResourceVersion::new(""), None);
    }

    #[test]
    fn numbers_are_ordered_and_nothing_else_is() {
        assert!(version("9") < version("10"));
        assert_eq!(version("10"), Revision(10).into());
        assert_eq!(version("010").revision(), None);
        assert_eq!(version("010").partial_cmp(&version("10")), None);
        assert_eq!(version("x").partial_cmp(&version("x")), Some(Ordering::Equal));
    }

    #[test]
    fn a_version_is_two_words() {
        assert_eq!(size_of::<ResourceVersion>(), 16);
    }
}
