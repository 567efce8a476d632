//! Objects in the store: where they are, in which form, and how they are read.

mod form;
mod objects;
mod part;
mod place;
mod text;

pub(crate) use form::{Stored, encode, head};
pub(crate) use objects::{Committed, Listed, Moment, Objects, PATIENCE, expired, too_large};
pub(crate) use part::Path;
pub(crate) use place::Place;
pub(crate) use text::Text;
