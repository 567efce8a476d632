//! `cargo xtask races`: two writers who are in each other's way, ten thousand times in each shape.
//!
//! They are tests of the API server. In `cargo xtask test` these are not optimized, and do a quarter of it.

use crate::counts::Counts;
use crate::shell::{self, Show};
use crate::workspace::Workspace;

/// Runs them and shows their output. True: every one held, and there was at least one.
pub(crate) fn run(workspace: &Workspace) -> anyhow::Result<bool> {
    let mut command = workspace.cargo(["test", "--profile=proof", "--all-features", "--no-fail-fast"]);
    command.args(["--package", "machinery-apiserver", "--test", "it", "--", "guards::races", "--nocapture"]);
    println!("{}", shell::describe(&command));
    let outcome = shell::run(command, Show::Lines)?;
    let ran = Counts::of(&outcome.text).ran();
    if outcome.ok && ran == 0 {
        println!("no race ran: are they elsewhere than in guards::races?");
    }
    Ok(outcome.ok && ran > 0)
}
