//! The server on a socket: TLS, HTTP/1.1 and HTTP/2, with limits against slow or hostile clients.

mod ambiguous;
mod connection;
mod deadline;
mod files;
mod pace;
mod read_budget;
mod reload;
mod send_progress;
mod steady_clock;

#[cfg(test)]
mod tests;

pub use files::{Access, CertificateFiles, Listen, ListenError};
pub use reload::Reloaded;
