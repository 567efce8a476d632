//! Integration tests in one binary, because linking costs more than running.

#![allow(clippy::unwrap_used, reason = "tests panic on failure")]

mod cases;
mod compose_cases;
mod crashes;
mod engine;
mod foreign_uses;
mod keys;
mod lab;
mod occurrences;
mod pods;
mod processes;
mod random_model;
mod scenarios;
mod world;
mod world_at_rest;
