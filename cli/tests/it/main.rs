//! The program as who runs it sees it: its arguments, its lines, its exit codes, and what it leaves on the disk.
#![allow(clippy::unwrap_used, reason = "in helpers too, which clippy does not know for tests")]

mod bad_input;
mod candidate;
mod client;
mod commands;
mod disk_full;
mod encryption;
mod kill;
mod leader_election;
#[cfg(feature = "otel")]
mod otlp;
mod program;
mod serve;
mod webhooks;
