//! The server: what it is made of, and the way of a request through it.

mod build;
mod call;
mod chance;
mod shared;

pub use build::{ApiServer, Builder, StartError};
pub(crate) use call::{Asked, Call};
pub use shared::Limits;
pub(crate) use shared::Shared;
