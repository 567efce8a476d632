//! The server: its builder, its shared state and the path of a request.

mod build;
mod call;
pub(crate) mod chance;
mod incoming;
mod limits;
mod places;
mod shared;
pub(crate) mod trace;

pub use build::{ApiServer, Builder, StartError};
pub(crate) use call::{Asked, Call, Head, unfenced};
pub(crate) use incoming::Incoming;
pub use limits::Limits;
pub(crate) use shared::{Shared, World};
