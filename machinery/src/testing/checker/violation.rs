//! Violations of invariants.

use std::fmt;

use machinery_objects::Revision;

/// A violation of an invariant.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct InvariantViolation {
    /// The name of the invariant.
    pub invariant: String,
    /// The text of the violation.
    pub text: String,
    /// The revision at which it was found first.
    pub revision: Revision,
}

/// The violations that were found, at least one.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Violations(pub Vec<InvariantViolation>);

impl fmt::Display for InvariantViolation {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} (revision {}): {}", self.invariant, self.revision, self.text)
    }
}

impl fmt::Display for Violations {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} violations of invariants", self.0.len())?;
        self.0.iter().try_for_each(|violation| write!(f, "\n{violation}"))
    }
}

impl std::error::Error for Violations {}
