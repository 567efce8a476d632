//! The informer: a cache that is kept up to date, and those who are told.

mod builder;
mod indexes;
mod reached;
mod run;
mod shared;
mod state;

pub use builder::Builder;
pub use reached::NotReached;
pub(crate) use reached::{LONGEST, named};
pub use shared::Informer;
pub(crate) use shared::Shared;
pub use state::{Counts, State};
