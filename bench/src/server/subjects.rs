//! Both servers as subjects of a suite.

use super::ServerProcess;
use crate::go;
use crate::interleave::{MissingPeers, OURS, Subject};
use crate::scratch::Scratch;
use anyhow::{Context, ensure};
use std::path::{Path, PathBuf};
use std::process::Command;
use std::rc::Rc;

pub(crate) const PEER: &str = "kubernetes";
/// An earlier build of `machinery`.
const PREVIOUS: &str = "previous";
const SERVE: [&str; 3] = ["serve", "--listen", "127.0.0.1:0"];

type Subjects<S> = Vec<Box<dyn Subject<S>>>;

/// Returns the subjects of the servers that can be built here, and the missing peers.
pub(super) fn subjects<S>(
    previous: Option<&Path>,
    measured: impl Fn(ServerProcess, Rc<Scratch>) -> anyhow::Result<Box<dyn Subject<S>>>,
) -> anyhow::Result<(Subjects<S>, MissingPeers)> {
    let scratch = Rc::new(Scratch::new()?);
    let ours = ours(scratch.clone())?;
    let mut subjects = vec![measured(ours, scratch.clone())?];
    let mut missing = MissingPeers::new();
    if let Some(program) = previous {
        // The server starts in a directory of its own.
        let program = program.canonicalize().with_context(|| format!("no program {}", program.display()))?;
        subjects.push(measured(ServerProcess::new(PREVIOUS, program, &SERVE, scratch.clone()), scratch)?);
        missing.push((PEER, "not measured beside a previous build".to_owned()));
    } else if go::is_here() {
        let peer = ServerProcess::new(PEER, go::build("apiserver")?, &[], scratch.clone());
        subjects.push(measured(peer, scratch)?);
    } else {
        eprintln!("GO NOT FOUND: Kubernetes' API machinery is not measured; install Go, which builds it");
        missing.push((PEER, "go not found: Kubernetes' API machinery not measured".to_owned()));
    }
    Ok((subjects, missing))
}

/// `machinery serve`.
pub(crate) fn ours(scratch: Rc<Scratch>) -> anyhow::Result<ServerProcess> {
    Ok(ServerProcess::new(OURS, build()?, &SERVE, scratch))
}

/// Builds the program `machinery` with this one's profile, next to it.
fn build() -> anyhow::Result<PathBuf> {
    let program = std::env::current_exe().context("cannot say where this program is")?;
    let target = program.ancestors().nth(2).context("this program is in no target directory")?;
    eprintln!("building machinery");
    let mut cargo = Command::new(env!("CARGO"));
    cargo.args(["build", "--quiet", "--package", "machinery-cli", "--target-dir"]).arg(target);
    if !cfg!(debug_assertions) {
        cargo.arg("--release");
    }
    let status = cargo.current_dir(env!("CARGO_MANIFEST_DIR")).status().context("cannot run cargo")?;
    ensure!(status.success(), "machinery was not built; why is above");
    Ok(program.with_file_name("machinery"))
}
