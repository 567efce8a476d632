//! The developer's commands, as `cargo xtask COMMAND`.
//!
//! The commands call plain cargo, so that a fresh clone needs no other tool, and so that CI and a
//! developer run the same thing.

mod counts;
mod e2e;
mod fuzz;
mod kos_ovs;
mod kubernetes;
mod lab;
mod layering;
mod lines;
mod links;
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
mod siege;
mod soak;
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
    /// Installs the tools that the tests need, where permitted; names those that are missing
    Setup,
    /// Runs all tests and checks; the last line is `N passed, N failed, N skipped`
    Test {
        /// Only these stages, by name, as in `cargo xtask test lints docs`
        stages: Vec<String>,
    },
    /// Runs the loom models: every interleaving of a few threads, within each model's bound
    Loom {
        /// Only the models with this in their names
        filter: Option<String>,
    },
    /// Runs races many times, optimized: writers under a guard, and claimants of names
    Races,
    /// Runs many readers, optimized: long lists at the same time, and watches that never read
    Load,
    /// Feeds mutated bytes to the fuzz targets
    Fuzz(fuzz::FuzzArgs),
    /// Runs a load on kos over Open vSwitch, under its invariant checker, and the long tests
    KosOvs,
    /// Builds Kubernetes from its Go modules, and runs the tests of our server on it
    Kubernetes,
    /// Runs Kubernetes' e2e specs of API machinery, built from Go modules, on `machinery serve`
    E2e(e2e::E2eArgs),
    /// Builds the examples of kube-rs, and runs them on `machinery serve`
    Operators(operators::OperatorArgs),
    /// Records the responses of the genuine Kubernetes API machinery (in Go) for the tests
    Record(record::RecordArgs),
    /// Attacks a server of 2 GiB and 1 024 descriptors, beside a polite client, watches and a kill
    Siege(siege::SiegeArgs),
    /// Runs kubectl, client-go, controller-runtime, Python and kopf on one server for an hour
    Soak(soak::SoakArgs),
    /// Runs `kos lab`: hosts with Open vSwitch on this machine, as network namespaces
    Lab(lab::LabArgs),
    /// Checks dependencies between crates, and that every `select!` is biased
    Layering,
    /// Counts the lines of code that a system needs beside the library
    Lines(lines::LinesArgs),
    /// Checks the links of the guides to lines of code
    Links(links::LinksArgs),
    /// Compiles the packages as they would be published: before a release, or with a new manifest
    Packages,
    /// Counts the language of documentation and names per crate, against the committed ceilings
    Words {
        /// Prints every counted line of these files and directories, such as `informers/src`
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

/// Runs a command. Returns whether it succeeded; failures have been printed.
fn run(command: Command) -> anyhow::Result<bool> {
    let workspace = Workspace::read()?;
    match command {
        Command::Setup => Ok(setup::run(setup::Caller::Setup).is_ready()),
        Command::Test { stages } => test::run(&workspace, &stages),
        Command::Loom { filter } => loom::run(&workspace, filter.as_deref()),
        Command::Races => races::run(&workspace),
        Command::Load => load::run(&workspace),
        Command::Fuzz(args) => fuzz::run(&workspace, &args),
        Command::KosOvs => kos_ovs::run(&workspace),
        Command::Kubernetes => kubernetes::run(&workspace),
        Command::E2e(args) => e2e::run(&workspace, &args),
        Command::Operators(args) => operators::run(&workspace, &args),
        Command::Record(args) => record::run(&workspace, &args),
        Command::Soak(args) => soak::run(&workspace, &args),
        Command::Siege(args) => siege::run(&workspace, &args),
        Command::Lab(args) => lab::run(&workspace, &args),
        Command::Layering => layering::run(&workspace),
        Command::Lines(args) => lines::run(&workspace, &args),
        Command::Links(args) => links::run(&workspace, &args),
        Command::Packages => packages::run(&workspace),
        Command::Words { paths } => words::run(&workspace, &paths),
    }
}
