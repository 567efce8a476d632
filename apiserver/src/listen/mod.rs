//! The server on a socket: TLS, HTTP/1.1 and HTTP/2, and what keeps slow or hostile connections from mattering.

mod connection;
mod files;
mod reload;

pub use files::{Access, CertificateFiles, Listen, ListenError};
pub use reload::Reloaded;
