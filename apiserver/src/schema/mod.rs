//! Structural schemas, as `CustomResourceDefinition`s carry them: what an object may hold, and what is wrong
//! with it.
//!
//! A [`Schema`] is data, and everything here is a pure function of it and of JSON. In the order in which a
//! written object meets them: [`Schema::unknown`] names what the schema does not have (and [`Schema::undeclared`], what
//! of that nobody can apply), [`Schema::prune`]
//! takes it away, [`Schema::default`] puts in what was left out, and [`Schema::validate`] says what is wrong.
//! An object that is read from the store under another schema is pruned and defaulted again.
//!
//! What an object's `metadata` holds is not looked at here. [`Schema::embedded_metadata`] finds those of
//! embedded resources for who does.

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
mod openapi;
mod path;
mod pruning;
mod read;
mod structure;
mod validate;

#[cfg(test)]
mod tests;

pub(crate) use expressions::Known;
pub(crate) use node::{Additional, ListType, MapType, Schema};
