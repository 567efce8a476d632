//! Tests of the promises of `src/lib.rs`, one file per topic.
#![allow(clippy::unwrap_used)]

mod actuator;
mod actuator_fixture;
mod batches;
mod completions;
mod diagnostics;
mod examples;
mod expectations;
mod failures;
mod finalizer;
mod fixture;
mod held_keys;
mod lease;
mod lease_client_go;
mod lease_fixture;
mod lease_malformed;
mod lease_terms;
mod locks;
mod locks_fixture;
mod locks_keys;
mod locks_race;
mod locks_waiters;
mod locks_wakes;
mod locks_wire;
mod own_writes;
mod owners;
mod recorder;
mod shutdown;
mod silence;
mod spans;
mod startup;
mod traces;
mod traces_wire;
