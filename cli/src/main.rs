//! The command `machinery`.

mod crds;
mod serve;

use std::process::ExitCode;

use clap::{Parser, Subcommand};

/// An API server for Kubernetes clients, in one binary.
#[derive(Parser)]
#[command(version, about)]
struct Arguments {
    #[command(subcommand)]
    command: Command,
}

#[derive(Subcommand)]
enum Command {
    /// Serve until SIGTERM or Ctrl-C
    Serve(serve::Arguments),
}

fn main() -> ExitCode {
    let Arguments { command } = Arguments::parse();
    let Command::Serve(arguments) = command;
    let runtime = match tokio::runtime::Runtime::new() {
        Ok(runtime) => runtime,
        Err(error) => return failed(&error.into()),
    };
    match runtime.block_on(serve::run(arguments)) {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => failed(&error),
    }
}

/// One line that names what is wrong and the way out.
fn failed(error: &anyhow::Error) -> ExitCode {
    eprintln!("machinery: {}", format!("{error:#}").replace('\n', " "));
    ExitCode::from(2)
}
