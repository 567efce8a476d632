//! The promises of `src/lib.rs`, one file for each matter.
#![allow(clippy::unwrap_used)]

mod completes;
mod ends;
mod expects;
mod fails;
mod finalizes;
mod holds;
mod lease;
mod lease_ends;
mod lease_go;
mod lease_odd;
mod lease_stage;
mod locks;
mod locks_keys;
mod locks_race;
mod locks_stage;
mod locks_waiters;
mod locks_wakes;
mod locks_wire;
mod owns;
mod records;
mod sees;
mod spans;
mod stage;
mod starts;
mod traces;
mod traces_wire;
