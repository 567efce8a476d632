//! client-go and controller-runtime: `bench/peers/go`, built with the Go toolchain of this machine, as one process
//! that answers a line for a line.

use super::shape::Shape;
use crate::interleave::Subject;
use crate::measure::Figures;
use anyhow::{Context, bail, ensure};
use serde::{Deserialize, Serialize};
use std::cell::RefCell;
use std::io::{BufRead, BufReader, Write};
use std::path::{Path, PathBuf};
use std::process::{Child, ChildStdin, ChildStdout, Command, Stdio};
use std::rc::Rc;

pub(super) const NAMES: [&str; 2] = ["client-go", "controller-runtime"];

/// As many as our runtime has worker threads.
const PROCESSORS: &str = "2";

/// Builds and starts the peers; `None` if there is no Go.
pub(super) fn start() -> anyhow::Result<Option<Vec<Box<dyn Subject<Shape>>>>> {
    match Command::new("go").arg("version").stdout(Stdio::null()).status() {
        Ok(status) if status.success() => {}
        _ => return Ok(None),
    }
    let peers = Rc::new(RefCell::new(Process::start(&build()?)?));
    Ok(Some(NAMES.into_iter().map(|name| boxed(Peer { name, peers: peers.clone() })).collect()))
}

fn boxed(peer: Peer) -> Box<dyn Subject<Shape>> {
    Box::new(peer)
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

struct Process {
    child: Child,
    requests: Option<ChildStdin>,
    responses: BufReader<ChildStdout>,
}

impl Process {
    fn start(binary: &Path) -> anyhow::Result<Self> {
        let mut child = Command::new(binary)
            .env("GOMAXPROCS", PROCESSORS)
            .env_remove("GOGC")
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .spawn()
            .context("cannot start the Go peers")?;
        let responses = child.stdout.take().context("the Go peers have no standard output")?;
        let requests = child.stdin.take();
        Ok(Self { child, requests, responses: BufReader::new(responses) })
    }

    fn ask(&mut self, request: &Request<'_>) -> anyhow::Result<Figures> {
        let mut line = serde_json::to_string(request)?;
        line.push('\n');
        let requests = self.requests.as_mut().context("the Go peers have no standard input")?;
        requests.write_all(line.as_bytes()).context("the Go peers have ended")?;
        line.clear();
        self.responses.read_line(&mut line)?;
        ensure!(!line.is_empty(), "the Go peers have ended");
        match serde_json::from_str(&line).with_context(|| format!("the Go peers answered {line:?}"))? {
            Response { error: Some(error), .. } => bail!(error),
            Response { figures, .. } => Ok(figures),
        }
    }
}

impl Drop for Process {
    fn drop(&mut self) {
        drop(self.requests.take()); // the end of its input ends it
        if let Err(error) = self.child.wait() {
            eprintln!("the Go peers did not end: {error}");
        }
    }
}

#[derive(Serialize)]
struct Request<'a> {
    peer: &'static str,
    #[serde(flatten)]
    shape: &'a Shape,
}

#[derive(Deserialize)]
struct Response {
    #[serde(default)]
    figures: Figures,
    error: Option<String>,
}

struct Peer {
    name: &'static str,
    peers: Rc<RefCell<Process>>,
}

impl Subject<Shape> for Peer {
    fn name(&self) -> &'static str {
        self.name
    }

    fn run(&mut self, shape: &Shape) -> anyhow::Result<Figures> {
        self.peers.borrow_mut().ask(&Request { peer: self.name, shape })
    }
}
