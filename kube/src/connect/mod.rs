//! A client of kube that needs few connections.

mod client;
mod connection;
mod dial;
mod pool;
mod response_body;

pub use client::{ConnectError, Connections, client};
pub(crate) use pool::Unsent;
