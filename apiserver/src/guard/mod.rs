//! Guards: cross-object invariants, checked at admission and conditioned on at commit.
//!
//! Each key under which objects are guarded has a record in the store while such objects exist. A
//! write of one of them also writes the record, on the condition that it is unchanged since the
//! view that was checked.

mod check;
mod hold;
mod key;

pub(crate) use check::Checks;
pub(crate) use hold::{GuardConditions, guard_that_refused, hold};
pub(crate) use key::keys;

use serde_json::Value;

use crate::invalid::FieldError;

/// A guard of one kind.
pub(crate) trait Guard: Send + Sync + 'static {
    /// The name, unique within the kind.
    fn name(&self) -> &str;

    /// Returns the keys under which an object is guarded; none if it is malformed.
    fn keys(&self, object: &Value) -> Vec<String>;

    /// Checks an object against the others under its keys.
    fn check(&self, object: &Value, others: &[Value]) -> Vec<FieldError>;
}
