//! The Go peers: directories of `bench/peers`, built with the Go toolchain of this machine.

use crate::lines::LineProcess;
use anyhow::{Context, ensure};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

/// `GOMAXPROCS` of the peers, equal to the worker threads of our runtime.
const PROCESSORS: &str = "2";

/// Returns whether there is a Go toolchain.
pub(crate) fn is_here() -> bool {
    let version = Command::new("go").arg("version").stdout(Stdio::null()).status();
    version.is_ok_and(|status| status.success())
}

/// Builds and starts the library peers; `None` without Go.
pub(crate) fn start() -> anyhow::Result<Option<LineProcess>> {
    if !is_here() {
        return Ok(None);
    }
    begin(&build("go")?).map(Some)
}

/// Starts a peer program.
pub(crate) fn begin(program: &Path) -> anyhow::Result<LineProcess> {
    begin_with(program, &[])
}

/// Starts a peer program with arguments.
pub(crate) fn begin_with(program: &Path, arguments: &[&str]) -> anyhow::Result<LineProcess> {
    let mut command = Command::new(program);
    command.args(arguments);
    command.env("GOMAXPROCS", PROCESSORS).env_remove("GOGC");
    LineProcess::start("the Go peers", &mut command)
}

/// Builds a directory of peers next to this program. Go's cache speeds up later builds.
pub(crate) fn build(peers: &str) -> anyhow::Result<PathBuf> {
    let source = Path::new(env!("CARGO_MANIFEST_DIR")).join("peers").join(peers);
    let program = std::env::current_exe().context("cannot say where this program is")?;
    let binary = program.with_file_name(format!("machinery-bench-{peers}-peers"));
    eprintln!("building the peers in bench/peers/{peers}");
    let status = Command::new("go")
        .args(["build", "-buildvcs=false", "-mod=readonly", "-o"])
        .arg(&binary)
        .arg(".")
        .current_dir(&source)
        .stdout(Stdio::null())
        .status()
        .context("cannot run go")?;
    ensure!(status.success(), "go build failed in bench/peers/{peers}; its message is above");
    Ok(binary)
}
