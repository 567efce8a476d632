//! Objects that a source has, and cannot make into what it is asked for.

use std::fmt;

use crate::{ObjectKey, ResourceVersion};

/// An object that cannot be read. It hides none of the others: lists and watches tell of it and go on.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Unreadable {
    /// Which.
    pub key: ObjectKey,
    /// In which version, if at least that can be read.
    pub version: Option<ResourceVersion>,
    /// Whether it is gone, or no longer selected.
    pub is_gone: bool,
    /// What is wrong with it.
    pub reason: String,
}

impl fmt::Display for Unreadable {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} cannot be read: {}", self.key, self.reason)
    }
}
