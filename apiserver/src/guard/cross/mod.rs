//! Guards over several kinds: a check of the objects of all of them, also at deletions.

mod builder;
mod guards;
mod member;

pub use builder::CrossKindGuard;
pub(crate) use guards::{CrossGuards, check_names};
