//! Runs cases against a server and compares its answers with those of the genuine Kubernetes API
//! machinery.
//!
//! The same code records (`cargo xtask record differential`) and compares (the tests of the
//! server), so both include it by path. [`case`] is the format of case files, [`run`] carries cases
//! out over a [`client`], [`normal`] replaces values that differ in each run, and [`compare`]
//! reports. No code here depends on the server under test.
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

/// Errors are messages for developers, and end the run.
pub(crate) type Result<T> = std::result::Result<T, Box<dyn std::error::Error + Send + Sync>>;
