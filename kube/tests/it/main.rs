//! The promises of `lib.rs`, against a server of ours in the process and over TLS, and against one that answers wrongly.
#![allow(clippy::unwrap_used, reason = "in helpers too, which clippy does not know for tests")]

mod connect;
mod interest;
mod panics;
mod plane;
mod ports;
mod projection;
mod roads;
mod script;
mod slim;
mod write;
mod wrong;
