//! A client of kube that needs few connections.

mod answer;
mod client;
mod connection;
mod dial;
mod pool;

pub use client::{ConnectError, Connections, client};
pub(crate) use pool::Unsent;
