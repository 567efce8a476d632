//! The command `machinery`.

mod audit;
mod core_dumps;
mod crds;
mod directory;
mod encryption;
mod explain;
mod progress;
mod serve;
mod store;
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
    /// Certificates and tokens are read again at SIGHUP, and within five seconds after a file of theirs has changed. One that is
    /// not good is named, and what was read before it goes on.
    Serve(Box<serve::ServeArgs>),
    /// Say why a controller ran an object last, what came of it, and when it runs next
    Explain(explain::ExplainArgs),
    /// Write all objects into one file, while no server runs on them
    Snapshot(store::SnapshotArgs),
    /// Make a data directory out of such a file
    Restore(store::RestoreArgs),
    /// Read all of a data directory and say whether it is sound, while no server runs on it
    Check(store::CheckArgs),
    /// Print what a shell completes this command by
    Completions {
        /// Which shell
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

/// One line that names what is wrong and the way out.
fn report(error: &anyhow::Error) -> ExitCode {
    eprintln!("machinery: {}", format!("{error:#}").replace('\n', " "));
    ExitCode::from(2)
}
