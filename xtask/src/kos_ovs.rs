//! `cargo xtask kos-ovs`: a load on kos over Open vSwitch, and its long tests. As root, with
//! Open vSwitch.
//!
//! Every attachment of the load is tested with frames that cross the switches of a lab, while the
//! invariant checker verifies each change.

use std::fs;
use std::process::Command;

use anyhow::Context;

use crate::counts::Counts;
use crate::program::Program;
use crate::shell::{self, Show};
use crate::workspace::Workspace;

/// The nodes of the lab.
const NODES: &str = "node-1,node-2,node-3";

/// Runs the load and the long tests. Returns whether all passed.
pub(crate) fn run(workspace: &Workspace) -> anyhow::Result<bool> {
    let built = shell::run(workspace.cargo(["build", "--package", "kos"]), Show::Progress)?;
    anyhow::ensure!(built.ok, "kos cannot be built:\n{}", built.text);
    // Not below the target directory: socket paths have a limit of 107 bytes.
    let directory = std::env::temp_dir().join(format!("kos-ovs-{}", std::process::id()));
    fs::create_dir(&directory).with_context(|| format!("cannot make {}", directory.display()))?;
    let kos = workspace.target.join("debug/kos");
    let kubeconfig = directory.join("kubeconfig");

    let mut up = Command::new(&kos);
    up.args(["up", "--fabric", "ovs", "--empty", "--check", "--nodes", "3", "--lab-name", "kos-ovs"]);
    up.arg("--lab-dir").arg(directory.join("lab")).arg("--kubeconfig-out").arg(&kubeconfig);
    println!("{}", shell::describe(&up));
    let mut cluster = Program::start(&mut up)?;
    cluster.expect_line("Ctrl-C ends it").context("is this root, with Open vSwitch?")?;

    let mut drive = Command::new(&kos);
    drive.arg("drive").arg("--kubeconfig").arg(&kubeconfig).arg("--directory").arg(&directory);
    // 450 attachments, each of which is tested.
    drive.args(["--nodes", NODES, "--test-fraction", "1", "--runid", "kos-ovs"]);
    println!("{}", shell::describe(&drive));
    let driven = shell::run(drive, Show::Lines)?;
    println!("the load {}", driven.ending);
    let checked = cluster.end();
    match &checked {
        Ok(()) => println!("the invariant checker found nothing"),
        Err(error) => println!("the cluster or the invariant checker failed: {error:#}"),
    }

    let mut tests = workspace.cargo(["test", "--package", "kos", "--test", "it"]);
    tests.args(["--", "--ignored", "--nocapture", "--test-threads=1", "ovs"]);
    println!("{}", shell::describe(&tests));
    let tested = shell::run(tests, Show::Lines)?;
    let counts = Counts::of(&tested.text);
    println!("long tests: {counts}");
    let _ = fs::remove_dir_all(&directory);
    if counts.passed == 0 {
        println!("no long test ran: is this root, with Open vSwitch?");
    }
    Ok(driven.ok && checked.is_ok() && tested.ok && counts.passed > 0)
}
