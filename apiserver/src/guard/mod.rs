//! What must be so of objects beside each other: held when one of them is written, as a condition of the same transaction.
//!
//! For each key under which objects are guarded there is a record in the store as long as there are such objects. Each write of
//! one of them writes the record, and rests on it being unchanged since the view on which the check was made.

mod check;
mod hold;
mod key;

pub(crate) use check::Checks;
pub(crate) use hold::{Held, guard_that_refused, hold};
pub(crate) use key::keys;

use serde_json::Value;

use crate::invalid::FieldError;

/// A guard of one kind.
pub(crate) trait Guard: Send + Sync + 'static {
    /// Its name among those of its kind.
    fn name(&self) -> &str;

    /// Under which keys an object counts. Of one that cannot be read there are none.
    fn keys(&self, object: &Value) -> Vec<String>;

    /// What is wrong with an object beside the others under its keys.
    fn check(&self, object: &Value, others: &[Value]) -> Vec<FieldError>;
}
