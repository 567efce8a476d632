//! The genuine API machinery as a child process: built, started, stopped.

use std::io::{BufRead, BufReader};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};

use anyhow::{Context, ensure};
use serde::Deserialize;
use serde_json::Value;

use crate::shell::{self, Show};
use crate::workspace::Workspace;

/// Address and credentials of a server.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Address {
    /// `https://127.0.0.1:PORT`
    pub(crate) url: String,
    /// A file with the certificate to trust.
    pub(crate) authority: PathBuf,
    /// The bearer token.
    pub(crate) token: String,
    /// The version of Kubernetes.
    pub(crate) version: String,
}

/// A running server of the genuine API machinery, killed on drop.
pub(crate) struct Peer {
    pub(crate) address: Address,
    child: Child,
}

/// Builds the server, and returns its path. A first build takes minutes.
pub(crate) fn build(workspace: &Workspace) -> anyhow::Result<PathBuf> {
    let program = workspace.target.join("peer-apiserver");
    let mut command = Command::new("go");
    command.current_dir(workspace.root.join("apiserver/record/peer"));
    command.args(["build", "-buildvcs=false", "-o"]).arg(&program).arg(".");
    let outcome = shell::run(command, Show::Progress).context("answers are recorded with a program in Go")?;
    ensure!(outcome.ok, "the genuine API machinery does not build: {}\n{}", outcome.ending, outcome.text);
    Ok(program)
}

impl Peer {
    /// Starts the server with an empty store, and returns when it serves.
    pub(crate) fn start(program: &Path, directory: &Path, hooks: &Value) -> anyhow::Result<Self> {
        let told = directory.join("hooks.json");
        std::fs::write(&told, hooks.to_string()).context("cannot write what its webhooks answer")?;
        let log = std::fs::File::create(directory.join("log")).context("cannot write its log")?;
        let mut command = Command::new(program);
        command.arg("--dir").arg(directory).arg("--hooks").arg(&told);
        command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(log);
        let mut child = command.spawn().context("cannot start the genuine API machinery")?;
        let mut line = String::new();
        if let Some(stdout) = child.stdout.take() {
            BufReader::new(stdout).read_line(&mut line)?;
        }
        let address = serde_json::from_str(&line);
        let address =
            address.with_context(|| format!("it did not start; see {}", directory.join("log").display()))?;
        Ok(Self { address, child })
    }
}

impl Drop for Peer {
    fn drop(&mut self) {
        drop(self.child.stdin.take()); // which tells it to end
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}
