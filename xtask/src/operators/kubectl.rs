//! kubectl, run as a user would, and its output.

use std::path::{Path, PathBuf};
use std::process::{Command, Output};

use anyhow::{Context, ensure};
use serde_json::Value;

/// Runs kubectl against one server.
pub(super) struct Kubectl {
    kubeconfig: PathBuf,
    home: PathBuf,
}

impl Kubectl {
    pub(super) fn new(kubeconfig: &Path, home: &Path) -> Self {
        Self { kubeconfig: kubeconfig.to_owned(), home: home.to_owned() }
    }

    /// Returns a command with the same kubeconfig, home and working directory.
    pub(super) fn beside(&self, program: &str) -> Command {
        let mut command = Command::new(program);
        command.env("KUBECONFIG", &self.kubeconfig).env("HOME", &self.home).current_dir(&self.home);
        command
    }

    /// Runs a command line, split at spaces, and returns its output. Errors have the standard
    /// error.
    pub(super) fn run(&self, line: &str) -> anyhow::Result<String> {
        let done = self.done(line)?;
        let said = String::from_utf8_lossy(&done.stderr);
        ensure!(done.status.success(), "kubectl {line}: {said}");
        Ok(String::from_utf8_lossy(&done.stdout).into_owned())
    }

    /// Checks that a command line fails with this reason.
    pub(super) fn refused(&self, line: &str, why: &str) -> anyhow::Result<()> {
        let done = self.done(line)?;
        let said = String::from_utf8_lossy(&done.stderr);
        ensure!(!done.status.success(), "kubectl {line}: it was not refused");
        ensure!(said.contains(why), "kubectl {line}: it was refused, not with `{why}`, but: {said}");
        Ok(())
    }

    /// Returns an object, with its managed fields.
    pub(super) fn read(&self, what: &str) -> anyhow::Result<Value> {
        let text = self.run(&format!("get {what} --output=json --show-managed-fields"))?;
        serde_json::from_str(&text).with_context(|| format!("kubectl get {what}: {text}"))
    }

    /// Returns whether an object does not exist.
    pub(super) fn is_gone(&self, what: &str) -> bool {
        self.run(&format!("get {what} --ignore-not-found --output=name")).is_ok_and(|said| said.is_empty())
    }

    fn done(&self, line: &str) -> anyhow::Result<Output> {
        let mut command = self.beside("kubectl");
        command.arg("--request-timeout=30s").args(line.split(' '));
        command.output().context("kubectl cannot be started")
    }
}
