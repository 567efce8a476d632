//! The server: its builder, its shared state and the path of a request.

mod build;
mod call;
mod capacity;
mod limits;
pub(crate) mod random;
mod request_body;
mod shared;
pub(crate) mod trace;

pub use build::{ApiServer, Builder, StartError};
pub(crate) use call::{Call, DocumentRequest, WireRequest, fence_not_allowed};
pub use limits::Limits;
pub(crate) use request_body::RequestBody;
pub(crate) use shared::{Environment, Shared};
