//! One binary for all of this crate's integration tests: linking is what takes the time.
#![cfg(not(machinery_loom))]

mod model;
