//! The real CNF: calls of the REST API over TLS.

mod access;
mod client;
mod connection;
mod error;
mod limits;
mod session;
mod tls;

pub use access::CnfAccess;
pub use client::RestConnector;
pub use error::RestError;
pub use limits::RestLimits;
pub use session::{CnfSession, RestAnswer, RestCall};

#[cfg(test)]
mod tests;
