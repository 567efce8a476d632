//! `cargo xtask races`: who is in each other's way meets often. Two writers under a guard, ten thousand times in each shape; eight who claim a
//! thousand names, crash, and wake up late.
//!
//! They are tests of the API server and of controllers. In `cargo xtask test` these are not optimized, and do a part of it.

use crate::counts::Counts;
use crate::shell::{self, Show};
use crate::workspace::Workspace;

/// In which crate, and which tests.
const RACES: [(&str, &str); 2] =
    [("machinery-apiserver", "guards::races"), ("machinery-controllers", "locks_race")];

/// Runs them and shows their output. True: every one held, and there was at least one of each.
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
