//! `cargo xtask load`: what many readers may cost. Lists of a hundred thousand objects, twenty at the same time; five thousand watches of which
//! five hundred never read. Optimized, over TLS, from another process.
//!
//! They are rows of the benchmarks, which say how much and go on. Here a goal that is missed is a failure.

use crate::shell::{self, Show};
use crate::workspace::Workspace;

/// Of which suite, and which rows.
const LOADS: [(&str, &str); 2] = [("apiserver", "list-100k-20-peak"), ("fanout", "stalled")];

/// Runs them and shows their output. True: all that they promise was kept.
pub(crate) fn run(workspace: &Workspace) -> anyhow::Result<bool> {
    let mut kept = true;
    for (suite, rows) in LOADS {
        let mut command = workspace.cargo(["run", "--release", "--package", "machinery-bench", "--", suite]);
        command.args(["--only", rows, "--rounds", "1", "--strict"]);
        println!("{}", shell::describe(&command));
        kept &= shell::run(command, Show::Lines)?.ok;
    }
    Ok(kept)
}
