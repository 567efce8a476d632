//! The server on a socket: TLS, HTTP/1.1 and HTTP/2, with limits against slow or hostile clients.

mod ambiguous;
mod cancellations;
mod client;
mod connection;
mod deadline;
mod descriptors;
mod expiry;
mod files;
mod lingering;
mod listener;
mod origin;
mod pace;
mod read_budget;
mod reload;
mod send_progress;
mod unauthenticated;
mod unread_body;

#[cfg(test)]
mod tests;

pub use files::{Access, CertificateFiles, Listen, ListenError};
pub use lingering::{LingerLimits, LingeringStream};
pub use reload::Reloaded;
pub use unread_body::{TrackedBody, UnreadBody, track_body};
