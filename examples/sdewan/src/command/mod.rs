//! The command line of `sdewan`: one file per command.

mod agent;
mod apiserver;
mod cluster;
mod cnf;
mod crds;
mod roles;
mod runner;
mod samples;
mod up;

use std::process::ExitCode;

use clap::{Parser, Subcommand};

/// An SD-EWAN: rules as custom resources, an agent that applies them to CNFs, and a CNF.
#[derive(Debug, Parser)]
#[command(name = "sdewan", version, about)]
pub struct Arguments {
    #[command(subcommand)]
    command: Command,
}

#[derive(Debug, Subcommand)]
enum Command {
    Up(up::UpArguments),
    Apiserver(apiserver::ApiserverArguments),
    Agent(agent::AgentArguments),
    Runner(runner::RunnerArguments),
    Cnf(cnf::CnfArguments),
    /// Print the CustomResourceDefinitions
    Crds,
    /// Print the namespace and the RBAC roles of the components
    Roles,
    Samples(samples::SamplesArguments),
}

impl Arguments {
    /// Executes the command.
    ///
    /// # Errors
    /// The command failed; the text is for the user.
    pub async fn run(self) -> machinery::Result<ExitCode> {
        // `up` draws its progress there, and prints why its samples are not in sync.
        if !matches!(self.command, Command::Up(_)) || std::env::var_os("RUST_LOG").is_some() {
            machinery::logs();
        }
        match self.command {
            Command::Up(arguments) => Box::pin(up::run(arguments)).await,
            Command::Apiserver(arguments) => Box::pin(apiserver::run(arguments)).await,
            Command::Agent(arguments) => Box::pin(agent::run(arguments)).await,
            Command::Runner(arguments) => Box::pin(runner::run(arguments)).await,
            Command::Cnf(arguments) => Box::pin(cnf::run(arguments)).await,
            Command::Crds => crds::run(),
            Command::Roles => roles::run(),
            Command::Samples(arguments) => samples::run(&arguments),
        }
    }
}

/// Prints documents as YAML.
fn print_documents<'a>(documents: impl IntoIterator<Item = &'a serde_json::Value>) -> machinery::Result {
    for document in documents {
        print!("---\n{}", serde_saphyr::to_string(document)?);
    }
    Ok(())
}

/// Returns a seed from the operating system.
fn seed() -> machinery::Result<u64> {
    let drawn = getrandom::u64();
    drawn.map_err(|error| format!("no seed from the operating system: {error}").into())
}
