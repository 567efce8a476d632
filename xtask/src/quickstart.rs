//! `cargo xtask test quickstart`: the controller of a stranger whose manifest names one crate.
#![expect(
    clippy::disallowed_methods,
    reason = "a program of one's own that waits for others needs no time that can be stopped"
)]

use std::io::{BufRead, BufReader};
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::sync::mpsc::{Receiver, RecvTimeoutError, sync_channel};
use std::thread;
use std::time::{Duration, Instant};

use anyhow::{Context, ensure};

use crate::workspace::Workspace;

pub(crate) const MANIFEST: &str = "xtask/outside/quickstart/Cargo.toml";

/// It is waited so long for each line, and for the end.
const PATIENCE: Duration = Duration::from_secs(60);

/// Builds it, and runs it on a server of its own and on `machinery serve`: each host has its address, and SIGTERM ends it well.
pub(crate) fn findings(workspace: &Workspace) -> anyhow::Result<Vec<String>> {
    let target = workspace.target.join("quickstart");
    let built = workspace
        .cargo(["build", "--quiet", "--manifest-path", MANIFEST])
        .arg("--target-dir")
        .arg(&target)
        .status();
    ensure!(built.context("cargo cannot be started")?.success(), "the quick start does not build");
    let built = workspace
        .cargo(["build", "--quiet", "--package", "machinery-cli"])
        .arg("--target-dir")
        .arg(&workspace.target)
        .status();
    ensure!(built.context("cargo cannot be started")?.success(), "machinery does not build");
    let quickstart = target.join("debug/quickstart");
    runs(&mut Command::new(&quickstart))?;

    let kubeconfig = target.join("kubeconfig");
    let mut serve = Command::new(workspace.target.join("debug/machinery"));
    serve.args(["serve", "--memory", "--listen", "127.0.0.1:0", "--kubeconfig-out"]).arg(&kubeconfig);
    let _ = std::fs::remove_file(&kubeconfig);
    let mut server = Program::start(&mut serve)?;
    server.until_there(&kubeconfig)?;
    // Twice: the second finds the kind and its hosts there.
    for _ in 0..2 {
        runs(Command::new(&quickstart).arg("--kubeconfig").arg(&kubeconfig))?;
    }
    server.end()?;
    Ok(Vec::new())
}

fn runs(command: &mut Command) -> anyhow::Result<()> {
    let mut program = Program::start(command)?;
    // Said when the status has been written.
    for host in [r#"Some("db-0") is at 10.0.17.1: "#, r#"Some("db-1") is at 10.0.18.1: "#] {
        program.says(host)?;
    }
    program.end()
}

/// A program, and what it says.
struct Program {
    child: Child,
    lines: Receiver<String>,
    said: Vec<String>,
}

impl Program {
    fn start(command: &mut Command) -> anyhow::Result<Self> {
        let mut child = command
            .stdin(Stdio::null())
            .stdout(Stdio::piped())
            .spawn()
            .with_context(|| format!("{:?} cannot be started", command.get_program()))?;
        let out = child.stdout.take().context("it has an output")?;
        let (sends, lines) = sync_channel(1024);
        thread::spawn(move || {
            for line in BufReader::new(out).lines().map_while(Result::ok) {
                if sends.send(line).is_err() {
                    return;
                }
            }
        });
        Ok(Self { child, lines, said: Vec::new() })
    }

    /// Waits until it has said a line with this.
    fn says(&mut self, what: &str) -> anyhow::Result<()> {
        let end = Instant::now() + PATIENCE;
        while !self.said.iter().any(|line| line.contains(what)) {
            match self.lines.recv_timeout(end.saturating_duration_since(Instant::now())) {
                Ok(line) => self.said.push(line),
                Err(RecvTimeoutError::Timeout | RecvTimeoutError::Disconnected) => {
                    anyhow::bail!("it did not say `{what}`, but {:?}", self.said)
                }
            }
        }
        Ok(())
    }

    fn until_there(&mut self, path: &Path) -> anyhow::Result<()> {
        let end = Instant::now() + PATIENCE;
        while !path.exists() {
            ensure!(Instant::now() < end && self.child.try_wait()?.is_none(), "the server did not begin");
            thread::sleep(Duration::from_millis(50));
        }
        Ok(())
    }

    /// SIGTERM, and an end without an error.
    fn end(mut self) -> anyhow::Result<()> {
        let told = Command::new("kill").args(["-TERM", &self.child.id().to_string()]).status();
        ensure!(
            told.context("kill cannot be started")?.success(),
            "it had ended before it was told to: {:?}",
            self.said
        );
        let end = Instant::now() + PATIENCE;
        loop {
            if let Some(status) = self.child.try_wait()? {
                ensure!(status.success(), "it ended with {status}: {:?}", self.said);
                return Ok(());
            }
            ensure!(Instant::now() < end, "it did not end when it was told to");
            thread::sleep(Duration::from_millis(20));
        }
    }
}

impl Drop for Program {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}
