//! `sdewan samples`: the samples, for kubectl.

use std::process::ExitCode;

use super::print_documents;
use crate::up::samples;

/// Print the samples: a CNF with its Secrets, and rules of every class. `kubectl apply -f -` takes
/// them
#[derive(Debug, clap::Args)]
pub(super) struct SamplesArguments {
    /// The pods of the CNF
    #[arg(long, value_name = "N", default_value_t = 2)]
    replicas: u32,
}

pub(super) fn run(arguments: &SamplesArguments) -> machinery::Result<ExitCode> {
    print_documents(&samples(arguments.replicas)?)?;
    Ok(ExitCode::SUCCESS)
}
