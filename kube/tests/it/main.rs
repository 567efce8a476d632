//! The promises of `lib.rs`, against our server in the process and over TLS, and against a scripted
//! one.
#![allow(clippy::unwrap_used, reason = "in helpers too, which clippy does not know for tests")]

mod connect;
mod interest;
mod managed_fields;
mod panics;
mod plane;
mod ports;
mod projection;
mod script;
mod transports;
mod write;
mod wrong;
