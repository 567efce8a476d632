//! Objects that a source cannot decode.

use std::fmt;

use crate::{ObjectKey, ResourceVersion};

/// An object that cannot be decoded. Lists and watches report it and continue with the other
/// objects.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Unreadable {
    /// The key of the object.
    pub key: ObjectKey,
    /// Its version, if that can be decoded.
    pub version: Option<ResourceVersion>,
    /// Whether it was deleted, or is no longer selected.
    pub is_gone: bool,
    /// The decoding error.
    pub reason: String,
}

impl fmt::Display for Unreadable {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} cannot be read: {}", self.key, self.reason)
    }
}
