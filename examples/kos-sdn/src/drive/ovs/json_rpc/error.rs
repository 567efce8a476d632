//! Errors of a JSON-RPC connection.

use std::io;
use std::path::PathBuf;

/// The reason why a connection ended or was not established.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum RpcError {
    /// The path does not fit into the address of a unix socket.
    #[error(
        "the socket path {} has {length} bytes, and a unix socket permits {limit}: choose a shorter run \
         directory",
        path.display()
    )]
    PathTooLong {
        /// The path.
        path: PathBuf,
        /// Its length in bytes.
        length: usize,
        /// The limit in bytes.
        limit: usize,
    },
    /// The server does not accept connections.
    #[error("cannot connect to {}: is the daemon running?", path.display())]
    Connect {
        /// The path of its socket.
        path: PathBuf,
        /// The cause.
        source: io::Error,
    },
    /// The server closed the connection.
    #[error("the server closed the connection")]
    Closed,
    /// Reading or writing failed.
    #[error("the connection failed")]
    Io(#[source] io::Error),
    /// A message is larger than the limit.
    #[error(
        "the server sent a message of more than {limit} bytes: raise the limit, or reduce the number of rows"
    )]
    TooBig {
        /// The limit in bytes.
        limit: usize,
    },
    /// Bytes are not a JSON-RPC message.
    #[error("the server sent bytes that are not JSON-RPC: {reason}")]
    Malformed {
        /// The cause.
        reason: String,
    },
}
