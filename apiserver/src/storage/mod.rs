//! Objects in the store: where they are, in which form, and how they are read and changed.

mod form;
mod objects;
mod place;

pub(crate) use form::{Stored, encode, head};
pub(crate) use objects::{Listed, Lost, Moment, Objects, Outcome, Write, expired};
pub(crate) use place::Place;
