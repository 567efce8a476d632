//! The objects, as they are read and as they are kept up to date.
//!
//! [`apply`] makes what a reflector says into changes of a [`shelf`], and into what handlers are told of them; [`renewal`] is all of
//! it anew, beside what is there, and [`part`] some of it; [`reached`] is how far it has come, for those who wait.

mod apply;
mod part;
mod reached;
mod renewal;
mod shelf;

pub(crate) use apply::{Cache, Outcome};
pub(crate) use reached::Reached;
pub(crate) use shelf::{Change, Changed, Objects, Seen, Shelf};
