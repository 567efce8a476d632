//! `cargo xtask loom`: the models in every crate's `tests/loom.rs`, under the private `--cfg
//! machinery_loom`.
//!
//! The models have a target directory of their own: with other flags in the same one, cargo would
//! rebuild everything, back and forth. Each model sets its own bound, so a bound in the environment
//! is removed.

use std::process::Command;

use crate::counts::Counts;
use crate::shell::{self, Show};
use crate::workspace::Workspace;

/// Runs the models and shows their output. Returns whether at least one ran and all passed.
pub(crate) fn run(workspace: &Workspace, filter: Option<&str>) -> anyhow::Result<bool> {
    let mut counts = Counts::default();
    let mut ok = true;
    for command in commands(workspace, filter) {
        println!("{}", shell::describe(&command));
        let outcome = shell::run(command, Show::Lines)?;
        ok &= outcome.ok;
        counts += Counts::of(&outcome.text);
    }
    if counts.ran() == 0 {
        println!(
            "no model ran: {}",
            filter.map_or("is there a tests/loom.rs?".into(), |f| format!("is `{f}` in a name?"))
        );
    }
    Ok(ok && counts.ran() > 0)
}

/// Returns one command for each crate, so that a failure names its crate and each must run a model.
pub(crate) fn commands(workspace: &Workspace, filter: Option<&str>) -> Vec<Command> {
    let target = workspace.target.join("loom");
    let command = |package: &cargo_metadata::Package| {
        let mut command = workspace.cargo([
            "test",
            "--profile=proof",
            "--no-default-features",
            "--no-fail-fast",
            "--test",
            "loom",
        ]);
        command.args(["--package", package.name.as_str(), "--target-dir"]).arg(&target);
        command.arg("--").args(filter);
        command
            .env("RUSTFLAGS", "--cfg machinery_loom -C debug-assertions")
            .env_remove("LOOM_MAX_PREEMPTIONS");
        command
    };
    workspace.with_loom_models().map(command).collect()
}
