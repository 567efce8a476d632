//! kubectl, with the environment of all clients.

use std::io::Write as _;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::Duration;

use anyhow::{Context, ensure};

use crate::shell;

/// The time in which an operator does its work, and a watch reports a change.
pub(super) const SILENT: Duration = Duration::from_secs(30);

/// Runs kubectl against one server.
pub(super) struct SoakKubectl {
    kubeconfig: PathBuf,
    home: PathBuf,
}

impl SoakKubectl {
    pub(super) fn new(kubeconfig: &Path, home: &Path) -> Self {
        Self { kubeconfig: kubeconfig.to_owned(), home: home.to_owned() }
    }

    /// Returns a command with the same kubeconfig and home.
    pub(super) fn beside(&self, program: impl AsRef<std::ffi::OsStr>) -> Command {
        let mut command = Command::new(program);
        command.env("KUBECONFIG", &self.kubeconfig).env("HOME", &self.home);
        command
    }

    /// Runs a command line, split at spaces, with a document as its input.
    pub(super) fn run(&self, line: &str, input: &str) -> anyhow::Result<String> {
        let mut command = self.beside("kubectl");
        command.args(line.split(' ')).stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
        let mut child = command.spawn().context("cannot start kubectl")?;
        child.stdin.take().context("it has an input")?.write_all(input.as_bytes())?;
        let done = child.wait_with_output()?;
        let said = String::from_utf8_lossy(&done.stderr);
        ensure!(done.status.success(), "kubectl {line}: {said}");
        Ok(String::from_utf8_lossy(&done.stdout).into_owned())
    }

    /// Runs a command line until its output is as expected.
    pub(super) fn until(&self, line: &str, expected: &str) -> anyhow::Result<()> {
        let begun = shell::now();
        loop {
            let found = self.run(line, "")?;
            if found.trim() == expected {
                return Ok(());
            }
            ensure!(
                begun.elapsed() < SILENT,
                "kubectl {line}: after {} s still {found:?}, not {expected:?}",
                SILENT.as_secs()
            );
        }
    }
}
