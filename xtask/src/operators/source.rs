//! kube-rs, from its repository.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::{Context, ensure};

use crate::shell::{self, Show};
use crate::workspace::Workspace;

pub(super) const REPOSITORY: &str = "https://github.com/kube-rs/kube";
/// The tag to clone. `xtask/operators/Cargo.lock` has its dependencies.
pub(super) const TAG: &str = "4.2.0";
/// The commit of the tag when this was written: a tag can be moved.
const COMMIT: &str = "526f1f2cfa996ed0e92510feabb2d2327df5e49f";

/// Clones the repository unless it is cloned already, and returns its directory.
pub(super) fn clone(workspace: &Workspace, home: &Path, repository: &str) -> anyhow::Result<PathBuf> {
    let source = home.join(format!("kube-{TAG}"));
    if !is_whole(&source) {
        let _ = fs::remove_dir_all(&source);
        let mut command = Command::new("git");
        command.args(["-c", "advice.detachedHead=false", "clone", "--quiet", "--depth=1", "--branch", TAG]);
        command.arg(repository).arg(&source);
        let cloned = shell::run(command, Show::Progress)?;
        ensure!(
            cloned.ok,
            "{repository} cannot be cloned; `--repository` names another place: {}",
            cloned.text
        );
        ensure!(is_whole(&source), "the tag {TAG} in {repository} is not commit {COMMIT}: look into why");
    }
    // The repository has no lock file: its `.gitignore` excludes it.
    let lock = workspace.root.join("xtask/operators/Cargo.lock");
    fs::copy(&lock, source.join("Cargo.lock")).with_context(|| format!("cannot copy {}", lock.display()))?;
    Ok(source)
}

/// Builds examples, and returns the directory of the programs.
pub(super) fn build(
    workspace: &Workspace,
    home: &Path,
    source: &Path,
    examples: &[&str],
) -> anyhow::Result<PathBuf> {
    let target = home.join("target");
    let mut command =
        workspace.cargo(["build", "--locked", "--package", "kube-examples", "--features", "cel"]);
    command.current_dir(source).arg("--target-dir").arg(&target);
    for example in examples {
        command.args(["--example", example]);
    }
    // Without debug information, to build faster.
    command.env("CARGO_PROFILE_DEV_DEBUG", "0").env("CARGO_INCREMENTAL", "0");
    let built = shell::run(command, Show::Progress)?;
    ensure!(built.ok, "the examples do not build: {}\n{}", built.ending, built.text);
    Ok(target.join("debug/examples"))
}

/// Returns whether the clone is at the commit, without changes.
fn is_whole(source: &Path) -> bool {
    let says = |args: &[&str]| {
        let said = Command::new("git").arg("-C").arg(source).args(args).output();
        said.ok()
            .filter(|said| said.status.success())
            .map(|said| String::from_utf8_lossy(&said.stdout).into_owned())
    };
    source.join(".git").exists()
        && says(&["rev-parse", "HEAD"]).is_some_and(|head| head.trim() == COMMIT)
        && says(&["status", "--porcelain"]).is_some_and(|changes| changes.is_empty())
}
