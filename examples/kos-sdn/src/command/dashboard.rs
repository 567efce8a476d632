//! `kos dashboard`: a Grafana dashboard of all metrics, or a table of them.

use std::process::ExitCode;

use crate::metrics::{dashboard, metrics_table};

/// Print a Grafana dashboard of all metrics
#[derive(Debug, clap::Args)]
pub(super) struct DashboardArguments {
    /// Print a table of the metrics instead, as Markdown
    #[arg(long)]
    table: bool,
}

pub(super) fn run(arguments: &DashboardArguments) -> machinery::Result<ExitCode> {
    match arguments.table {
        true => print!("{}", metrics_table()),
        false => println!("{:#}", dashboard()),
    }
    Ok(ExitCode::SUCCESS)
}
