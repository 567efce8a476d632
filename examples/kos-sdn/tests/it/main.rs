//! The crate from outside: one binary, because linking costs more than running.

#![allow(clippy::unwrap_used, reason = "a test that is wrong stops")]

mod agents;
mod any_cluster;
mod controllers;
mod crashes;

mod definitions;
mod drive;
mod gate;
mod hook;
mod numbers;
mod processes;
mod programs;
mod server;
mod subnets;
mod up;
mod validation;
mod world;
