//! JSON-RPC 1.0 over a unix socket, as the daemons of Open vSwitch speak it.
//!
//! Messages are JSON objects without framing: [`JsonSplitter`] finds their ends in a stream of
//! bytes, and [`RpcConnection`] sends and receives [`RpcMessage`]s. The caller limits the size of a
//! message.

mod connection;
mod error;
mod message;
mod splitter;

pub use connection::{RpcConnection, SOCKET_PATH_LIMIT};
pub use error::RpcError;
pub use message::RpcMessage;
pub use splitter::JsonSplitter;
