//! The server on a socket: TLS, HTTP/1.1 and HTTP/2, with limits against slow or hostile clients.

mod connection;
mod exact;
mod files;
mod pace;
mod reload;
mod taken;
mod turns;
mod until;

#[cfg(test)]
mod tests;

pub use files::{Access, CertificateFiles, Listen, ListenError};
pub use reload::Reloaded;
