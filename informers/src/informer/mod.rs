//! The informer: a reflector, its cache with indexes, and its event handlers.

mod builder;
mod indexes;
mod run;
mod shared;
mod state;
mod wait;

pub use builder::Builder;
pub use shared::Informer;
pub(crate) use shared::InformerShared;
pub use state::{Counts, State};
pub use wait::WaitError;
pub(crate) use wait::{MAX_WAIT, fetch_named};
