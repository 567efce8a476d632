//! The Go peers: `bench/peers/go`, built with the Go toolchain of this machine.

use crate::lines::Lines;
use anyhow::{Context, ensure};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

/// As many as our runtime has worker threads.
const PROCESSORS: &str = "2";

/// Builds and starts the peers; `None` if there is no Go.
pub(crate) fn start() -> anyhow::Result<Option<Lines>> {
    match Command::new("go").arg("version").stdout(Stdio::null()).status() {
        Ok(status) if status.success() => {}
        _ => return Ok(None),
    }
    let mut command = Command::new(build()?);
    command.env("GOMAXPROCS", PROCESSORS).env_remove("GOGC");
    Lines::start("the Go peers", &mut command).map(Some)
}

/// Builds the peers next to this program. Go's own cache makes the second time quick.
fn build() -> anyhow::Result<PathBuf> {
    let source = Path::new(env!("CARGO_MANIFEST_DIR")).join("peers/go");
    let program = std::env::current_exe().context("cannot say where this program is")?;
    let binary = program.with_file_name("machinery-bench-go-peers");
    eprintln!("building the Go peers");
    let status = Command::new("go")
        .args(["build", "-buildvcs=false", "-mod=readonly", "-o"])
        .arg(&binary)
        .arg(".")
        .current_dir(&source)
        .stdout(Stdio::null())
        .status()
        .context("cannot run go")?;
    ensure!(status.success(), "go build failed in bench/peers/go; its message is above");
    Ok(binary)
}
