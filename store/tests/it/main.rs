//! Integration tests of the store; one binary, because linking dominates the build time.
#![allow(clippy::unwrap_used, reason = "in helpers too, which clippy does not know for tests")]

mod bad_input;
mod conformance;
mod crash;
mod crash_sync;
mod crash_witness;
mod descriptors;
mod faulty;
mod faulty_backend;
mod flaws;
mod flips;
mod full_open;
mod history;
mod history_check;
mod kill;
mod large;
mod model;
mod ownership;
mod retention;
mod sealed;
mod snapshots;
mod writer_panics;
