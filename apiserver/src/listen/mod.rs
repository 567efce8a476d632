//! The server on a socket: TLS, HTTP/1.1 and HTTP/2, with limits against slow or hostile clients.

#[cfg(feature = "server")]
mod ambiguous;
#[cfg(feature = "server")]
mod cancellations;
#[cfg(feature = "server")]
mod client;
#[cfg(feature = "server")]
mod connection;
#[cfg_attr(not(feature = "server"), allow(dead_code, reason = "a webhook server uses a part of it"))]
mod deadline;
#[cfg(feature = "server")]
mod descriptors;
#[cfg(feature = "server")]
mod expiry;
#[cfg(feature = "server")]
mod files;
mod lingering;
#[cfg(feature = "server")]
mod listener;
#[cfg(feature = "server")]
mod origin;
#[cfg(feature = "server")]
mod pace;
#[cfg(feature = "server")]
mod read_budget;
#[cfg(feature = "server")]
mod reload;
#[cfg(feature = "server")]
mod send_progress;
#[cfg(feature = "server")]
mod unauthenticated;
mod unread_body;

#[cfg(all(test, feature = "server"))]
mod tests;

#[cfg(feature = "server")]
pub use files::{Access, CertificateFiles, Listen, ListenError};
pub use lingering::{LingerLimits, LingeringStream};
#[cfg(feature = "server")]
pub use reload::Reloaded;
pub use unread_body::{TrackedBody, UnreadBody, track_body};
