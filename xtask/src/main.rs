//! The developer's commands: `cargo xtask setup|test|loom|races|load|fuzz|kubernetes|operators|layering|record|packages|words`.
//!
//! Plain cargo underneath, so that a fresh clone needs nothing else, and so that a desk and CI run the same thing.

mod counts;
mod fuzz;
mod kubernetes;
mod layering;
mod load;
mod loom;
mod operators;
mod packages;
mod program;
mod quickstart;
mod races;
mod record;
mod setup;
mod shell;
mod sources;
mod stages;
mod test;
mod test_programs;
mod words;
mod workspace;

use std::process::ExitCode;

use clap::{Parser, Subcommand};
use workspace::Workspace;

#[derive(Parser)]
#[command(name = "cargo xtask", about = "The developer's commands of Machinery")]
struct Args {
    #[command(subcommand)]
    command: Command,
}

#[derive(Subcommand)]
enum Command {
    /// Installs what the test suites need where it may; names what is missing where it may not
    Setup,
    /// Runs everything; the last line is `N passed, N failed, N skipped`
    Test {
        /// Only these stages, by name, as in `cargo xtask test lints docs`
        stages: Vec<String>,
    },
    /// Runs the loom models: every interleaving of a few threads, within each model's bound
    Loom {
        /// Only the models whose name contains this
        filter: Option<String>,
    },
    /// Has those meet often who are in each other's way: writers under a guard, and claimers of names
    Races,
    /// Has many read: long lists at the same time, and watches of which some never read; optimized. A goal that is missed fails
    Load,
    /// Feeds mutated bytes to the fuzz targets
    Fuzz(fuzz::Args),
    /// Builds Kubernetes from its Go modules, and runs on it what runs on a server of ours
    Kubernetes,
    /// Builds the examples of kube-rs, and runs them on `machinery serve`
    Operators(operators::Args),
    /// Asks the genuine Kubernetes API machinery (in Go) what the tests compare our answers with
    Record(record::Args),
    /// Checks dependencies between crates, and that every `select!` is biased
    Layering,
    /// Compiles the packages as they would be published: before a release, and after a change of a manifest
    Packages,
    /// Counts the language of documentation and names per crate, against the committed ceilings
    Words {
        /// Prints every counted line of these files and directories, as in `cargo xtask words informers/src`
        paths: Vec<std::path::PathBuf>,
    },
}

fn main() -> ExitCode {
    match run(Args::parse().command) {
        Ok(true) => ExitCode::SUCCESS,
        Ok(false) => ExitCode::FAILURE,
        Err(error) => {
            eprintln!("error: {error:#}");
            ExitCode::FAILURE
        }
    }
}

/// True: what was asked for holds. What does not has been printed.
fn run(command: Command) -> anyhow::Result<bool> {
    let workspace = Workspace::read()?;
    match command {
        Command::Setup => Ok(setup::run(setup::Asked::Setup).is_ready()),
        Command::Test { stages } => test::run(&workspace, &stages),
        Command::Loom { filter } => loom::run(&workspace, filter.as_deref()),
        Command::Races => races::run(&workspace),
        Command::Load => load::run(&workspace),
        Command::Fuzz(args) => fuzz::run(&workspace, &args),
        Command::Kubernetes => kubernetes::run(&workspace),
        Command::Operators(args) => operators::run(&workspace, &args),
        Command::Record(args) => record::run(&workspace, &args),
        Command::Layering => layering::run(&workspace),
        Command::Packages => packages::run(&workspace),
        Command::Words { paths } => words::run(&workspace, &paths),
    }
}
