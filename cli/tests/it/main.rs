//! The program as its users see it: arguments, output, exit codes and files.
#![allow(clippy::unwrap_used, reason = "clippy does not know that the helpers are test code")]

mod bad_input;
mod candidate;
mod client;
mod clock;
mod commands;
mod descriptors;
mod disk_full;
mod disk_full_start;
mod disk_lost;
mod encryption;
#[cfg(target_os = "linux")]
mod history_memory;
mod kill;
mod leader_election;
mod memory;
mod mounted;
#[cfg(feature = "otel")]
mod otlp;
mod program;
mod rapid_reset;
mod serve;
mod webhooks;
