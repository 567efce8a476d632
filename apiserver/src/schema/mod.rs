//! Structural schemas of `CustomResourceDefinition`s: validation, pruning and defaulting of
//! objects.
//!
//! A [`Schema`] is data, and all functions are pure, over it and JSON. In the order of a write:
//! [`Schema::unknown`] returns fields that the schema does not have (and [`Schema::undeclared`],
//! those that cannot be applied), [`Schema::prune`] drops them, [`Schema::default`] fills in
//! omitted fields, and [`Schema::validate`] returns the errors. An object that was stored under
//! another schema is pruned and defaulted again when read.
//!
//! The contents of an object's `metadata` are not validated here. [`Schema::embedded_metadata`]
//! finds those of embedded resources for the caller.

mod correlate;
mod declared;
mod defaulting;
mod defaults;
mod embedded;
mod expressions;
mod formats;
mod lists;
mod node;
mod open;
pub(crate) mod openapi;
mod passwords;
mod path;
mod pruning;
mod read;
mod structure;
mod validate;

#[cfg(test)]
mod tests;

pub(crate) use expressions::Known;
pub(crate) use node::{Additional, DeclaredListType, MapType, Schema};
