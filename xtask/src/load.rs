//! `cargo xtask load`: the cost of many readers, optimized, over TLS, from another process. Twenty
//! lists of a hundred thousand objects at the same time; five thousand watches of which five
//! hundred never read.
//!
//! These are rows of the benchmarks, which only report. Here a missed goal is a failure.

use crate::shell::{self, Show};
use crate::workspace::Workspace;

/// The suite and its rows.
const LOADS: [(&str, &str); 2] = [("apiserver", "list-100k-20-peak"), ("fanout", "stalled")];

/// Runs the rows and shows their output. Returns whether all goals were met.
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
