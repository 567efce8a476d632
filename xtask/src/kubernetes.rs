//! `cargo xtask kubernetes`: the tests that run on Machinery's API server, on Kubernetes itself.
//!
//! kube-apiserver, the garbage collector of kube-controller-manager, and etcd are built from the Go
//! modules in `xtask/kubernetes/go.mod`, and start with an empty store. Only this command needs Go
//! and curl.

mod cluster;

use std::fs;
use std::process::Command;

use anyhow::Context;

use crate::counts::Counts;
use crate::quickstart;
use crate::shell::{self, Show};
use crate::workspace::Workspace;
use cluster::Cluster;

/// The environment variable by which the tests find the kubeconfig of the cluster.
const VARIABLE: &str = "KUBERNETES_UNDER_TEST";

/// Runs all tests on Kubernetes. Returns whether all passed.
pub(crate) fn run(workspace: &Workspace) -> anyhow::Result<bool> {
    let begun = shell::now();
    let version = cluster::version(workspace)?;
    println!("building Kubernetes {version} (cold this takes ten minutes) ...");
    let programs = cluster::build(workspace, &version)?;
    let directory = workspace.target.join("kubernetes/run");
    let _ = fs::remove_dir_all(&directory);
    fs::create_dir_all(&directory).with_context(|| format!("cannot make {}", directory.display()))?;
    let cluster = Cluster::start(&programs, &directory)?;
    println!(
        "it serves after {:.1} s; what it says is in {}",
        begun.elapsed().as_secs_f64(),
        directory.display()
    );

    let mut total = Counts::default();
    let begun = shell::now();
    println!("[1/{}] quick start ...", 1 + TESTS.len());
    let quickstart = quickstart::build(workspace)?;
    let ran = quickstart::runs_on(&quickstart, &cluster.kubeconfig);
    if let Err(error) = &ran {
        println!("{error:#}");
    }
    total += Counts { passed: usize::from(ran.is_ok()), failed: usize::from(ran.is_err()), skipped: 0 };
    tell(ran.is_ok(), begun);
    for (index, (name, args)) in TESTS.iter().enumerate() {
        println!("[{}/{}] {name} ...", index + 2, 1 + TESTS.len());
        let begun = shell::now();
        let counts = test(workspace, &cluster, args)?;
        total += counts;
        tell(counts.failed == 0, begun);
    }
    println!("\n{total}");
    Ok(total.failed == 0)
}

/// Test suites, with their arguments of `cargo test`.
const TESTS: [(&str, &[&str]); 4] = [
    // One after the other: each test expects an empty cluster.
    (
        "the ports",
        &[
            "--package",
            "machinery-kube",
            "--test",
            "it",
            "--",
            "--test-threads=1",
            "ports::",
            "slim::",
            "write::",
        ],
    ),
    ("planes, and controllers that crash", &["--package", "machinery", "--test", "kubernetes"]),
    (
        "a Lease that is shared with client-go",
        &["--package", "machinery-controllers", "--test", "it", "--", "client_go"],
    ),
    ("the policy for node agents of kos", &["--package", "kos", "--test", "it", "--", "permissions::"]),
];

fn test(workspace: &Workspace, cluster: &Cluster, args: &[&str]) -> anyhow::Result<Counts> {
    let mut command: Command = workspace.cargo(["test", "--quiet", "--all-features"]);
    command.args(args).env(VARIABLE, &cluster.kubeconfig);
    let outcome = shell::run(command, Show::Progress)?;
    let mut counts = Counts::of(&outcome.text);
    if !outcome.ok || counts.ran() == 0 {
        println!("{}", outcome.text);
        counts.failed = counts.failed.max(1);
    }
    Ok(counts)
}

fn tell(ok: bool, begun: std::time::Instant) {
    println!("      {} in {:.1} s", if ok { "ok" } else { "FAILED" }, begun.elapsed().as_secs_f64());
}
