//! The API server on disk and TLS, beside the genuine Kubernetes API machinery on the same disk.
//!
//! [`rows`] lists the shapes and the rows they fill. A subject is a [`server`]. [`measured`] runs
//! the same operations on both through the same clients, and measures the process from outside.

mod idle;
mod lists;
mod measured;
mod polite;
mod rows;
mod shape;
mod writes;

use crate::Options;
use crate::interleave::SuiteResults;
use crate::server;

/// Measures the selected shapes.
pub(crate) fn run(options: &Options) -> anyhow::Result<SuiteResults> {
    server::run::<measured::ApiserverSubject, _>(options, rows::plans)
}
