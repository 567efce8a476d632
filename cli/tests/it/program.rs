//! Runs the program to its end, or as a server for the time of a test.

use std::fs::File;
use std::net::{SocketAddr, TcpListener};
use std::path::{Path, PathBuf};
use std::process::{ExitStatus, Output, Stdio};
use std::sync::atomic::{AtomicU16, Ordering::Relaxed};
use std::time::Duration;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use rustix::process::{Pid, Signal, kill_process};
use serde_json::Value;
use tokio::io::{AsyncBufReadExt as _, BufReader};
use tokio::process::{Child, Command};
use tokio::time::timeout;

/// Longer than any step takes on the slowest machine.
pub(crate) const TIMEOUT: Duration = Duration::from_secs(120);

fn command(arguments: &[&str], home: &Path) -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_machinery"));
    command.args(arguments).current_dir(home).kill_on_drop(true).stdin(Stdio::null());
    command
}

/// Runs the program to its end.
pub(crate) async fn run(arguments: &[&str], home: &Path) -> Output {
    timeout(TIMEOUT, command(arguments, home).output()).await.expect("it ends").unwrap()
}

/// A free port outside of the system's ephemeral range. Each call returns another port, as the
/// previous caller may not listen yet.
pub(crate) fn free_port() -> u16 {
    static TAKEN: AtomicU16 = AtomicU16::new(0);
    let begin = 20_000 + u16::try_from(std::process::id() % 5_000).unwrap() * 2;
    let mut ports = (begin..32_000).skip(TAKEN.fetch_add(100, Relaxed).into());
    ports.find(|port| TcpListener::bind(("127.0.0.1", *port)).is_ok()).expect("a port is free")
}

/// A `machinery serve` process that accepts requests.
pub(crate) struct ServerProcess {
    child: Child,
    stderr: PathBuf,
    /// Lines of its standard output.
    pub(crate) lines: Vec<String>,
    pub(crate) kubeconfig: PathBuf,
    pub(crate) access: Access,
}

/// Address and credentials of a kubeconfig.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Access {
    pub(crate) address: SocketAddr,
    pub(crate) ca: String,
    pub(crate) token: String,
}

impl ServerProcess {
    /// Starts `machinery serve` in `home`, and waits until it accepts requests.
    pub(crate) async fn start(arguments: &[&str], home: &Path) -> Self {
        Self::start_with(arguments, home, &[]).await
    }

    /// As [`start`](Self::start), with these environment variables.
    pub(crate) async fn start_with(arguments: &[&str], home: &Path, environment: &[(&str, PathBuf)]) -> Self {
        let mut command = command(&[&["serve"], arguments].concat(), home);
        command.envs(environment.iter().map(|(name, value)| (name, value)));
        Self::spawn(command, home).await
    }

    /// Starts it with limits of its own: options of the shell's `ulimit`.
    pub(crate) async fn start_with_limits(limits: &str, arguments: &[&str], home: &Path) -> Self {
        let mut shell = Command::new("sh");
        shell.args(["-c", &format!("ulimit {limits} && exec \"$@\""), "sh", env!("CARGO_BIN_EXE_machinery")]);
        shell.arg("serve").args(arguments).current_dir(home).kill_on_drop(true).stdin(Stdio::null());
        Self::spawn(shell, home).await
    }

    async fn spawn(mut command: Command, home: &Path) -> Self {
        let stderr = home.join("stderr");
        let mut child = command
            .stdout(Stdio::piped())
            .stderr(File::options().create(true).append(true).open(&stderr).unwrap())
            .spawn()
            .unwrap();
        let mut out = BufReader::new(child.stdout.take().unwrap()).lines();
        let mut lines = Vec::new();
        let kubeconfig = loop {
            let line = timeout(TIMEOUT, out.next_line()).await.expect("it is up").unwrap();
            let line =
                line.unwrap_or_else(|| panic!("it ended: {}", std::fs::read_to_string(&stderr).unwrap()));
            lines.push(line.clone());
            if let Some(path) = line.trim().strip_prefix("export KUBECONFIG=") {
                break home.join(path);
            }
        };
        let access = Access::read(&kubeconfig);
        Self { child, stderr, lines, kubeconfig, access }
    }

    /// Its process id.
    pub(crate) fn id(&self) -> u32 {
        self.child.id().expect("it runs")
    }

    pub(crate) fn signal(&self, signal: Signal) {
        let id = i32::try_from(self.id()).unwrap();
        kill_process(Pid::from_raw(id).unwrap(), signal).unwrap();
    }

    /// Waits until the process exits.
    pub(crate) async fn ended(mut self) -> ExitStatus {
        timeout(TIMEOUT, self.child.wait()).await.expect("it ends").unwrap()
    }

    /// Sends SIGKILL.
    pub(crate) async fn kill(mut self) {
        self.child.kill().await.unwrap();
    }

    /// Waits until standard error contains a text.
    pub(crate) async fn wait_for_stderr(&self, expected: &str) {
        let seen = async {
            while !self.stderr().contains(expected) {
                tokio::time::sleep(Duration::from_millis(10)).await;
            }
        };
        timeout(TIMEOUT, seen).await.unwrap_or_else(|_| panic!("no {expected:?} in {}", self.stderr()));
    }

    /// Standard error until now.
    pub(crate) fn stderr(&self) -> String {
        std::fs::read_to_string(&self.stderr).unwrap()
    }
}

impl Access {
    pub(crate) fn read(kubeconfig: &Path) -> Self {
        let text = std::fs::read_to_string(kubeconfig).unwrap();
        let config: Value = serde_saphyr::from_str(&text).unwrap();
        let cluster = &config["clusters"][0]["cluster"];
        let url = cluster["server"].as_str().unwrap();
        let address =
            url.strip_prefix("https://").unwrap().replace("localhost", "127.0.0.1").parse().unwrap();
        let ca = STANDARD.decode(cluster["certificate-authority-data"].as_str().unwrap()).unwrap();
        let token = config["users"][0]["user"]["token"].as_str().unwrap().to_owned();
        Self { address, ca: String::from_utf8(ca).unwrap(), token }
    }
}
