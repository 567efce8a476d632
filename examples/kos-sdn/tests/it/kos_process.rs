//! The program `kos` as a child process.

use std::io::{BufRead as _, BufReader};
use std::path::Path;
use std::process::{Child, Command, Output, Stdio};

pub(crate) fn kos(home: &Path, arguments: &[&str]) -> Command {
    let mut kos = Command::new(env!("CARGO_BIN_EXE_kos"));
    kos.args(arguments).env_remove("KUBECONFIG").env("HOME", home);
    kos
}

pub(crate) fn text(output: &Output) -> String {
    format!("{}{}", String::from_utf8_lossy(&output.stdout), String::from_utf8_lossy(&output.stderr))
}

/// A child process, killed on drop.
pub(crate) struct KosProcess(pub(crate) Child);

impl KosProcess {
    /// Starts a process and waits until it is ready.
    pub(crate) fn start(home: &Path, arguments: &[&str]) -> Self {
        let mut process = Self(kos(home, arguments).stdout(Stdio::piped()).spawn().unwrap());
        let lines = BufReader::new(process.0.stdout.take().unwrap()).lines();
        let is_up = lines.map_while(Result::ok).any(|line| line.ends_with("Ctrl-C ends it"));
        assert!(is_up, "{arguments:?} did not come up");
        process
    }
}

impl Drop for KosProcess {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}
