//! One binary for all of this crate's integration tests: linking is what takes the time.
#![cfg(not(machinery_loom))]
#![allow(clippy::unwrap_used, reason = "in helpers too, which clippy does not know for tests")]

mod dropping;
mod model;
mod panics;
mod promises;
mod threads;
mod tree;
