//! `cargo xtask packages`: compiles the packages as they would be published. It takes minutes, and
//! finds missing files and missing versions; run it before a release, and after a change of a
//! manifest.

use std::path::{Path, PathBuf};
use std::process::Command;
use std::{env, fs};

use crate::shell::{self, Show};
use crate::stages;
use crate::workspace::Workspace;

/// Makes and compiles all packages, and shows the output. Returns whether all compile.
pub(crate) fn run(workspace: &Workspace) -> anyhow::Result<bool> {
    forget_packages(workspace);
    Ok(shell::run(command(workspace), Show::Lines)?.ok)
}

/// Returns one command for all packages: cargo verifies crates against each other before any is
/// published.
pub(crate) fn command(workspace: &Workspace) -> Command {
    let mut command = workspace.cargo(["package", "--allow-dirty"]);
    command.args(stages::named(workspace.published())).arg("--target-dir").arg(target(workspace));
    command
}

fn target(workspace: &Workspace) -> PathBuf {
    workspace.target.join("packages")
}

/// Removes unpacked packages of earlier runs. Cargo identifies a package by its version alone, so
/// it would verify this run's packages against them.
fn forget_packages(workspace: &Workspace) {
    let _ = fs::remove_dir_all(target(workspace));
    let home = env::var_os("CARGO_HOME").map(PathBuf::from);
    let Some(home) = home.or_else(|| Some(env::home_dir()?.join(".cargo"))) else { return };
    let registries = fs::read_dir(home.join("registry/src")).into_iter().flatten().flatten();
    // Registries of this machine have no host, and others begin with one.
    for registry in registries.filter(|registry| registry.file_name().to_string_lossy().starts_with('-')) {
        remove_unpacked(workspace, &registry.path());
    }
}

fn remove_unpacked(workspace: &Workspace, registry: &Path) {
    for package in workspace.published() {
        let _ = fs::remove_dir_all(registry.join(format!("{}-{}", package.name, package.version)));
    }
}
