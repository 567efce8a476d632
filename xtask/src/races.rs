//! `cargo xtask races`: races many times. Two writers under a guard, ten thousand times in each
//! shape; creates and deletes under a guard over several kinds; eight claimants of a thousand names
//! that crash and resume late.
//!
//! The races are tests of the API server and of controllers. `cargo xtask test` runs fewer rounds,
//! not optimized.

use crate::counts::Counts;
use crate::shell::{self, Show};
use crate::workspace::Workspace;

/// Crates and tests.
const RACES: [(&str, &str); 3] = [
    ("machinery-apiserver", "guards::races"),
    ("machinery-apiserver", "guards::cross"),
    ("machinery-controllers", "locks_race"),
];

/// Runs the races and shows their output. Returns whether at least one of each
/// ran and all passed.
pub(crate) fn run(workspace: &Workspace) -> anyhow::Result<bool> {
    let mut held = true;
    for (package, tests) in RACES {
        let mut command = workspace.cargo(["test", "--profile=proof", "--all-features", "--no-fail-fast"]);
        command.args(["--package", package, "--test", "it", "--", tests, "--nocapture"]);
        println!("{}", shell::describe(&command));
        let outcome = shell::run(command, Show::Lines)?;
        let ran = Counts::of(&outcome.text).ran();
        if outcome.ok && ran == 0 {
            println!("no race ran: are they elsewhere than in {tests} of {package}?");
        }
        held &= outcome.ok && ran > 0;
    }
    Ok(held)
}
