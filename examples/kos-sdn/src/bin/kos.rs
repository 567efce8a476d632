//! The command `kos`.

use std::process::ExitCode;

use clap::{Parser, Subcommand};

/// The control plane of a software-defined network, in one binary.
#[derive(Parser)]
#[command(name = "kos", version, about)]
struct Arguments {
    #[command(subcommand)]
    command: Command,
}

#[derive(Subcommand)]
enum Command {
    /// Print the definitions of the kinds, for clusters that are not served by `kos` itself
    Crds,
}

fn main() -> ExitCode {
    let Arguments { command: Command::Crds } = Arguments::parse();
    match kos::model::manifests() {
        Ok(manifests) => {
            print!("{manifests}");
            ExitCode::SUCCESS
        }
        Err(error) => {
            eprintln!("kos: the definitions cannot be written: {error}");
            ExitCode::FAILURE
        }
    }
}
