//! Patches: apply to a document the changes of a client, or refuse them.
//!
//! All functions are pure, work in memory that is bounded by the body's limit, and never build a
//! document that is nested deeper than the parser accepts.
//!
//! Where we differ from Kubernetes, on purpose:
//! - JSON patch: the root can be a target; an index has no leading zeros; a `copy` from a missing
//!   path is refused; `test` compares numbers by value, and strings literally.
//! - Merge patch: nulls in objects in lists are dropped also where the list replaces an object.
//! - Strategic merge: directives and nulls in new values are never stored, `$patch: replace` and
//!   `merge` of a missing map work, an unknown directive is refused anywhere, and errors for which
//!   Kubernetes answers 500 are 422.
//! - The refusal of a patch that does not apply has the reason as a cause.

mod apply;
#[cfg(test)]
pub(crate) mod arbitrary;
mod json;
mod kind;
mod merge;
mod refused;
mod strategic;
mod types;

pub(crate) use apply::Patch;
pub(crate) use kind::{APPLY, PatchKind};
pub(crate) use types::{FieldPatch, PatchMeta, Strategy};
