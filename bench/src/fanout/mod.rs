//! One event among many watches: `machinery serve` beside the genuine Kubernetes API machinery.
//!
//! [`rows`] lists the shapes and the rows they fill. A subject is a [`server`]; its clients are
//! [`watches`](crate::watches) on one thread of this process, and [`measured`] measures the
//! server's process from outside.

mod measured;
mod rows;
mod shape;

use crate::Options;
use crate::interleave::SuiteResults;
use crate::server;

/// Measures the selected shapes.
pub(crate) fn run(options: &Options) -> anyhow::Result<SuiteResults> {
    server::run::<measured::FanoutSubject, _>(options, rows::plans)
}
