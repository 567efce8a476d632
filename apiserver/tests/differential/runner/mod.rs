//! Runs cases against a server and compares what it answers with what the genuine Kubernetes API
//! machinery answered.
//!
//! The same code records (`cargo xtask record differential`) and judges (the tests of the server),
//! so both know it by path. [`case`] is what a case file says, [`run`] carries it out over a
//! [`client`], [`normal`] takes out what is new each time, and [`compare`] reports. Nothing in here
//! knows whose answers it handles.
#![allow(dead_code, reason = "each of the programs that have this in them uses its part of it")]

mod answer;
pub(crate) mod applies;
pub(crate) mod case;
pub(crate) mod client;
pub(crate) mod compare;
mod expand;
pub(crate) mod hooks;
mod normal;
mod order;
mod place;
pub(crate) mod record;
pub(crate) mod run;
mod scan;

/// What goes wrong here is said to a developer, and ends the run.
pub(crate) type Result<T> = std::result::Result<T, Box<dyn std::error::Error + Send + Sync>>;
