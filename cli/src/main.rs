//! The command `machinery`: an API server and the tools of its data directory.

mod audit;
mod core_dumps;
mod crds;
mod dashboard;
mod descriptors;
mod directory;
mod encryption;
mod explain;
mod memory;
mod progress;
mod serve;
mod store;
mod temporary;
#[cfg(feature = "otel")]
mod traces;
mod webhooks;

use std::process::ExitCode;

use clap::{CommandFactory as _, Parser, Subcommand};
use clap_complete::Shell;

/// An API server for Kubernetes clients, in one binary.
#[derive(Parser)]
#[command(name = "machinery", version, about)]
struct Cli {
    #[command(subcommand)]
    command: Command,
}

#[derive(Subcommand)]
enum Command {
    /// Serve until SIGTERM or Ctrl-C
    ///
    /// Certificates and tokens are reloaded at SIGHUP, and within five seconds after one of their
    /// files changes. An invalid file is reported, and the previous one stays in use.
    Serve(Box<serve::ServeArgs>),
    /// Show the causes and result of a controller's last run of an object, and its next run
    Explain(explain::ExplainArgs),
    /// Print a Grafana dashboard of the server's metrics
    Dashboard(dashboard::DashboardArgs),
    /// Write all objects to one file, while no server uses the data directory
    Snapshot(store::SnapshotArgs),
    /// Create a data directory from a snapshot file
    Restore(store::RestoreArgs),
    /// Verify a data directory, while no server uses it
    Check(store::CheckArgs),
    /// Print the completion script of a shell
    Completions {
        /// The shell
        shell: Shell,
    },
}

fn main() -> ExitCode {
    let Cli { command } = Cli::parse();
    let runtime = match tokio::runtime::Runtime::new() {
        Ok(runtime) => runtime,
        Err(error) => return report(&error.into()),
    };
    let done = runtime.block_on(async {
        match command {
            Command::Serve(arguments) => serve::run(*arguments).await,
            Command::Explain(arguments) => explain::run(arguments).await,
            Command::Dashboard(arguments) => {
                dashboard::run(&arguments);
                Ok(())
            }
            Command::Snapshot(arguments) => store::snapshot(arguments).await,
            Command::Restore(arguments) => store::restore(arguments).await,
            Command::Check(arguments) => store::check(arguments).await,
            Command::Completions { shell } => {
                clap_complete::generate(shell, &mut Cli::command(), "machinery", &mut std::io::stdout());
                Ok(())
            }
        }
    });
    match done {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => report(&error),
    }
}

/// Prints an error and its remedy as one line.
fn report(error: &anyhow::Error) -> ExitCode {
    eprintln!("machinery: {}", format!("{error:#}").replace('\n', " "));
    ExitCode::from(2)
}
