//! `cargo xtask test quickstart`: a user's controller with one crate in its manifest.

use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::{Context, ensure};

use crate::program::Program;
use crate::stages;
use crate::workspace::Workspace;

pub(crate) const MANIFEST: &str = "xtask/outside/quickstart/Cargo.toml";

/// Builds the quick start, and runs it with a server in its process and on `machinery serve`: each
/// host gets its address, and SIGTERM stops it cleanly.
pub(crate) fn findings(workspace: &Workspace) -> anyhow::Result<Vec<String>> {
    let quickstart = build(workspace)?;
    let server = build_server(workspace)?;
    runs(&mut Command::new(&quickstart))?;

    let kubeconfig = workspace.target.join("quickstart/kubeconfig");
    let mut serve = Command::new(server);
    serve.args(["serve", "--memory", "--listen", "127.0.0.1:0", "--kubeconfig-out"]).arg(&kubeconfig);
    let _ = std::fs::remove_file(&kubeconfig);
    let mut server = Program::start(&mut serve)?;
    server.until_there(&kubeconfig)?;
    runs_on(&quickstart, &kubeconfig)?;
    server.end()?;
    Ok(Vec::new())
}

/// Builds the quick start, and returns the path of the program.
pub(crate) fn build(workspace: &Workspace) -> anyhow::Result<PathBuf> {
    let target = workspace.target.join("quickstart");
    let built = workspace
        .cargo(["build", "--quiet", "--manifest-path", MANIFEST])
        .arg("--target-dir")
        .arg(&target)
        // Without debug information, which would take five gigabytes.
        .env("CARGO_PROFILE_DEV_DEBUG", "0")
        .env("CARGO_INCREMENTAL", "0")
        .status();
    ensure!(built.context("cargo cannot be started")?.success(), "the quick start does not build");
    Ok(target.join("debug/quickstart"))
}

/// Builds the program `machinery`, and returns its path.
pub(crate) fn build_server(workspace: &Workspace) -> anyhow::Result<PathBuf> {
    // The stage `tests` has built it: with other features, every crate would be compiled once more.
    let built = stages::tests_command(workspace).args(["--no-run", "--quiet"]).status();
    ensure!(built.context("cargo cannot be started")?.success(), "machinery does not build");
    Ok(workspace.target.join("debug/machinery"))
}

/// Runs the quick start twice: the second run finds the kind and its hosts.
pub(crate) fn runs_on(quickstart: &Path, kubeconfig: &Path) -> anyhow::Result<()> {
    for _ in 0..2 {
        runs(Command::new(quickstart).arg("--kubeconfig").arg(kubeconfig))?;
    }
    Ok(())
}

fn runs(command: &mut Command) -> anyhow::Result<()> {
    let mut program = Program::start(command)?;
    // Printed once the status has been written.
    for host in [r#"Some("db-0") is at 10.0.17.1: "#, r#"Some("db-1") is at 10.0.18.1: "#] {
        program.expect_line(host)?;
    }
    program.end()
}
