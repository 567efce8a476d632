//! Guards: cross-object invariants, checked at admission and conditioned on at commit.
//!
//! Each key under which objects are guarded has a record in the store while such objects exist. A
//! write of one of them also writes the record, on the condition that it is unchanged since the
//! view that was checked. A guard is of one kind ([`KindOf::guard`](crate::KindOf::guard)), or of
//! several ([`cross`]).

mod check;
mod conditions;
pub(crate) mod cross;
mod hold;
mod key;
mod others;
mod write;

pub(crate) use check::Checks;
pub(crate) use conditions::GuardConditions;
pub use cross::CrossKindGuard;
pub(crate) use cross::{CrossGuards, check_names};
pub(crate) use hold::{guard_that_refused, hold};
pub(crate) use key::keys;
pub use write::{GuardedObject, GuardedWrite};

use crate::invalid::FieldError;
use crate::storage::Place;

/// A guard, as one of its kinds has it.
pub(crate) trait Guard: Send + Sync + 'static {
    /// The name in refusals: unique within the kind, or among the guards over several kinds.
    fn name(&self) -> &str;

    /// The prefix of its keys: the name, or `*` and the name for a guard over several kinds. Names
    /// are DNS labels, so these never collide.
    fn prefix(&self) -> &str {
        self.name()
    }

    /// Returns the keys under which an object is guarded; none if it is malformed.
    fn keys(&self, object: &serde_json::Value) -> Vec<String>;

    /// The kinds whose objects have common keys. None: its own kind only.
    fn members(&self) -> Option<&[Place]> {
        None
    }

    /// Whether it also checks deletions that users request.
    fn checks_deletions(&self) -> bool {
        false
    }

    /// Checks a write against the other objects under its keys.
    fn check(&self, write: &GuardedWrite, others: &[GuardedObject]) -> Vec<FieldError>;
}
