//! `cargo xtask lab …`: `kos lab …` of the program in this tree.

use std::ffi::OsString;
use std::process::Command;

use anyhow::{Context, ensure};

use crate::workspace::Workspace;

/// Arguments of `kos lab`
#[derive(clap::Args)]
#[command(disable_help_flag = true)]
pub(crate) struct LabArgs {
    /// up, status, exec or down, with their arguments
    #[arg(trailing_var_arg = true, allow_hyphen_values = true)]
    args: Vec<OsString>,
}

/// Builds `kos`, and runs its command `lab`. Returns whether it succeeded.
pub(crate) fn run(workspace: &Workspace, args: &LabArgs) -> anyhow::Result<bool> {
    let built = workspace.cargo(["build", "--quiet", "--package", "kos"]).status();
    ensure!(built.context("cannot start cargo")?.success(), "kos was not built");
    let program = workspace.target.join("debug/kos");
    let status = Command::new(&program).arg("lab").args(&args.args).status();
    Ok(status.with_context(|| format!("cannot start {}", program.display()))?.success())
}
