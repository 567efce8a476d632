//! `cargo xtask siege`: all known attacks at once on a server of 2 GiB and 1 024 descriptors.
//!
//! Beside them a polite client writes and reads ten times a second, watches follow its objects, and
//! the server is killed in the middle and started again. At the end every acknowledged write exists
//! and has been seen by every watch, the polite client was never without an answer for longer than
//! two seconds, and the memory of the server stayed within its limit.
//!
//! A new attack is a line in [`attacks`], with the story of the defect.

#[cfg(feature = "siege")]
mod attacks;
#[cfg(feature = "siege")]
mod bodies;
#[cfg(feature = "siege")]
mod campaign;
#[cfg(feature = "siege")]
mod connection;
#[cfg(feature = "siege")]
mod objects;
#[cfg(feature = "siege")]
mod polite;
#[cfg(feature = "siege")]
mod resets;
#[cfg(feature = "siege")]
mod server;
#[cfg(feature = "siege")]
mod site;
#[cfg(feature = "siege")]
mod watches;

use crate::workspace::Workspace;

/// Duration and attacks of a siege
#[derive(clap::Args)]
pub(crate) struct SiegeArgs {
    /// Seconds of the attacks
    #[arg(long, value_name = "N", default_value_t = 600)]
    seconds: u64,
    /// Only attacks with this in their names. May be given several times
    #[arg(long, value_name = "TEXT")]
    only: Vec<String>,
    /// The program `machinery`; by default it is built, optimized
    #[arg(long, value_name = "F")]
    program: Option<std::path::PathBuf>,
}

/// Builds this program with the attacks, and runs it.
#[cfg(not(feature = "siege"))]
pub(crate) fn run(workspace: &Workspace, args: &SiegeArgs) -> anyhow::Result<bool> {
    use anyhow::Context;

    // A directory of its own: the running program cannot be replaced, and its features differ.
    let mut command = workspace.cargo(["run", "--quiet", "--package", "xtask", "--features", "siege"]);
    command.arg("--target-dir").arg(workspace.target.join("siege")).args(["--", "siege"]);
    command.args(["--seconds", &args.seconds.to_string()]);
    command.args(args.only.iter().map(|text| format!("--only={text}")));
    if let Some(program) = &args.program {
        command.arg("--program").arg(std::path::absolute(program)?);
    }
    Ok(command.status().context("cannot start cargo")?.success())
}

/// Runs the attacks. Returns whether the server held.
#[cfg(feature = "siege")]
pub(crate) fn run(workspace: &Workspace, args: &SiegeArgs) -> anyhow::Result<bool> {
    campaign::run(workspace, args)
}
