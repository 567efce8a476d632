//! The moment of a store that a state belongs to.

use std::fmt;
use std::num::ParseIntError;
use std::str::FromStr;

/// A moment of one store: every commit has its own, later ones are greater, and none is used twice.
///
/// Revisions of two stores say nothing about each other.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Revision(pub u64);

impl Revision {
    /// Before every commit. No state carries it.
    pub const ZERO: Self = Self(0);

    /// The revision after this one.
    ///
    /// # Panics
    /// After 2⁶⁴ commits.
    #[must_use]
    pub const fn next(self) -> Self {
        Self(self.0.checked_add(1).expect("a store makes fewer than 2⁶⁴ commits"))
    }
}

impl fmt::Display for Revision {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(f)
    }
}

impl FromStr for Revision {
    type Err = ParseIntError;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        text.parse().map(Self)
    }
}
