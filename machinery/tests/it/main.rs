//! Tests of planes on both transports, of crashing controllers, and of parity with kube-runtime.
#![cfg(all(feature = "embedded", feature = "kube", feature = "server"))]
#![allow(clippy::unwrap_used)]

mod components;
mod crash_points;
mod crashes;
mod definitions;
mod differential;
mod examples;
mod fences;
mod hosts;
mod invariants;
mod kinds;
mod led_controllers;
mod logs;
mod mistakes;
#[cfg(feature = "otel")]
mod otel;
mod own_children;
mod own_writes;
mod owned_fields;
mod pages;
mod paused_clock;
mod planes;
mod predicates;
mod runtime_kinds;
#[path = "../samples/mod.rs"]
mod samples;
mod server_parts;
mod shutdown;
