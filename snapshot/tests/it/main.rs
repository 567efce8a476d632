//! One binary for all integration tests of this crate, because linking dominates their build time.
#![cfg(not(machinery_loom))]
#![allow(clippy::unwrap_used, reason = "in helpers too, which clippy does not know for tests")]

mod dropping;
mod model;
mod panics;
mod promises;
mod threads;
mod tree;
