//! Patches: a document and what a client wants changed in it give another document, or a refusal.
//!
//! All of it is pure, works in memory that is bounded by the body's limit, and never makes a document that is
//! nested deeper than what can be read again.
//!
//! Where we differ from Kubernetes, on purpose:
//! - JSON patch: the whole document is a place like others; an index has no zeros before it; a `copy` of what is not
//!   there is refused; `test` compares numbers by what they are, and texts by what they say.
//! - Merge patch: nulls in objects in lists are dropped also where the list replaces an object.
//! - Strategic merge: directives and nulls in what is new are never stored, `$patch: replace` and `merge` of a map work
//!   where there is none yet, a directive that nobody knows is refused wherever it is, and what Kubernetes answers with
//!   500 is 422.
//! - A refusal of a patch that does not apply says why, as a cause.

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
pub(crate) use kind::PatchKind;
pub(crate) use types::{FieldPatch, PatchMeta, Strategy};
