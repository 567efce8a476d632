//! The daemons of Open vSwitch, and agents.

use std::fs::OpenOptions;
use std::path::{Path, PathBuf};
use std::process::Stdio;
use std::time::Duration;

use machinery::tokio::net::UnixStream;
use machinery::tokio::process::{Child, Command};
use machinery::tokio::time::{Instant, sleep};

use super::process::LAB_VARIABLE;
use super::requirements::program_path;
use super::{LabError, LabHost};

/// A daemon of a host.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Daemon {
    /// `ovsdb-server`: the database.
    Database,
    /// `ovs-vswitchd`: the switch.
    Switch,
}

/// Maximum time for a daemon to come up.
const START_LIMIT: Duration = Duration::from_secs(60);

/// Interval of checks whether a daemon is up.
const START_CHECK: Duration = Duration::from_millis(10);

impl Daemon {
    /// Both daemons, in the order of their start.
    pub const ALL: [Self; 2] = [Self::Database, Self::Switch];

    /// Returns the name of the program.
    #[must_use]
    pub const fn program(self) -> &'static str {
        match self {
            Self::Database => "ovsdb-server",
            Self::Switch => "ovs-vswitchd",
        }
    }

    /// Returns the socket that shows that the daemon is up.
    fn socket(self, host: &LabHost) -> PathBuf {
        match self {
            Self::Database => host.file("db.sock"),
            Self::Switch => host.file("vswitchd.ctl"),
        }
    }

    /// Returns the command line.
    ///
    /// # Errors
    /// The log file cannot be opened.
    pub(super) fn command(self, host: &LabHost, id: &str) -> Result<Command, LabError> {
        let path = |name: &str| host.file(name).to_string_lossy().into_owned();
        let program = program_path(self.program()).unwrap_or_else(|| self.program().into());
        let mut command = Command::new(program);
        match self {
            Self::Database => {
                command.arg(path("conf.db")).arg(format!("--remote=punix:{}", path("db.sock")));
                command.arg(format!("--unixctl={}", path("ovsdb.ctl")));
            }
            Self::Switch => {
                command.arg(format!("unix:{}", path("db.sock")));
                command.arg(format!("--unixctl={}", path("vswitchd.ctl")));
            }
        }
        command.arg(format!("--pidfile={}", path(&format!("{}.pid", self.program()))));
        command.arg("--verbose=syslog:off").envs(host.environment());
        detach(&mut command, &log(host, self.program()), id)?;
        Ok(command)
    }

    /// Waits until the daemon accepts connections.
    pub(super) async fn wait_until_up(self, host: &LabHost, child: &mut Child) -> Result<(), LabError> {
        let socket = self.socket(host);
        let is_up = async || UnixStream::connect(&socket).await.is_ok();
        wait(host, self.program(), child, is_up).await
    }
}

/// Returns the command line of a host's agent.
pub(super) fn agent_command(host: &LabHost, kubeconfigs: &Path, id: &str) -> Result<Command, LabError> {
    let program = std::env::current_exe().map_err(LabError::io("finding", Path::new("kos")))?;
    let mut command = Command::new(program);
    command.arg("agent").arg("--kubeconfig").arg(kubeconfigs.join(format!("{}.kubeconfig", host.node)));
    command.args(["--node", &host.node, "--host-ip", &host.address.to_string()]);
    command.args(["--fabric", "ovs", "--into", "netns", "--ovs-run"]).arg(&host.run_directory);
    detach(&mut command, &log(host, "agent"), id)?;
    Ok(command)
}

/// Waits until a condition holds. Fails if the process ends before.
pub(super) async fn wait(
    host: &LabHost,
    program: &str,
    child: &mut Child,
    mut is_up: impl AsyncFnMut() -> bool,
) -> Result<(), LabError> {
    let failed = |reason: String| LabError::Daemon {
        node: host.node.clone(),
        program: program.into(),
        reason,
        log: log(host, program),
    };
    let deadline = Instant::now() + START_LIMIT;
    while !is_up().await {
        if let Ok(Some(status)) = child.try_wait() {
            return Err(failed(format!("it ended with {status}")));
        }
        if Instant::now() >= deadline {
            return Err(failed(format!("{} s have passed", START_LIMIT.as_secs())));
        }
        sleep(START_CHECK).await;
    }
    Ok(())
}

fn log(host: &LabHost, program: &str) -> PathBuf {
    host.file(&format!("{program}.log"))
}

/// Lets a process outlive this one, in a process group of its own.
fn detach(command: &mut Command, log: &Path, id: &str) -> Result<(), LabError> {
    let output =
        OpenOptions::new().create(true).append(true).open(log).map_err(LabError::io("opening", log))?;
    let errors = output.try_clone().map_err(LabError::io("opening", log))?;
    command.stdin(Stdio::null()).stdout(output).stderr(errors);
    command.env(LAB_VARIABLE, id).process_group(0).kill_on_drop(false);
    Ok(())
}
