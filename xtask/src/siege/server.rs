//! The besieged server: a process with limits, which is killed and started again.

use std::fs::{self, DirBuilder, File, OpenOptions};
use std::io::Write as _;
use std::os::unix::fs::{DirBuilderExt as _, OpenOptionsExt as _};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::Duration;

use anyhow::{Context, bail, ensure};

use super::site::{USERS, pause};
use crate::shell;
use crate::workspace::Workspace;

/// Descriptors of the server, soft and hard.
const DESCRIPTORS: &str = "1024";
/// Bytes of the server's memory.
pub(super) const MEMORY: u64 = 2 << 30;
const START: Duration = Duration::from_secs(60);

/// Sets the limits of this shell, and becomes the server.
const LIMITED: &str =
    r#"ulimit -n "$1" && { [ -z "$2" ] || echo $$ > "$2/cgroup.procs"; } && shift 2 && exec "$@""#;

pub(super) struct BesiegedServer {
    program: PathBuf,
    home: PathBuf,
    group: Option<MemoryGroup>,
    child: Child,
    /// The highest resident memory of all its processes.
    peak: u64,
}

/// A control group that limits memory, if this process may create one.
struct MemoryGroup(PathBuf);

impl BesiegedServer {
    /// Builds the server, and starts it on an empty directory with the users of the siege.
    pub(super) fn begin(workspace: &Workspace, program: Option<&Path>, home: &Path) -> anyhow::Result<Self> {
        let program = program.map_or_else(|| build(workspace), |program| Ok(program.to_owned()))?;
        let _ = fs::remove_dir_all(home);
        fs::create_dir_all(home).with_context(|| format!("cannot make {}", home.display()))?;
        let pki = home.join("data/pki");
        DirBuilder::new().recursive(true).mode(0o700).create(&pki)?;
        let mut tokens =
            OpenOptions::new().create_new(true).write(true).mode(0o600).open(pki.join("tokens.csv"))?;
        for user in USERS {
            writeln!(tokens, "{user},{user},{user}")?;
        }
        let group = MemoryGroup::create();
        let child = start(&program, home, group.as_ref(), "127.0.0.1:0")?;
        let mut server = Self { program, home: home.to_owned(), group, child, peak: 0 };
        server.until_ready()?;
        Ok(server)
    }

    pub(super) fn kubeconfig(&self) -> anyhow::Result<String> {
        let path = self.home.join("kubeconfig");
        fs::read_to_string(&path).with_context(|| format!("cannot read {}", path.display()))
    }

    pub(super) fn authority(&self) -> anyhow::Result<Vec<u8>> {
        fs::read(self.home.join("data/pki/ca.crt")).context("the server has no certificate authority")
    }

    /// Returns how the memory is limited.
    pub(super) fn limit(&self) -> &'static str {
        if self.group.is_some() {
            "by a control group"
        } else {
            "by watching it: no control group can be made"
        }
    }

    /// Kills the server, and starts it again at its address.
    pub(super) fn kill_and_restart(&mut self, address: &str) -> anyhow::Result<()> {
        self.observe()?;
        self.child.kill().context("cannot kill the server")?;
        self.child.wait()?;
        fs::remove_file(self.home.join("kubeconfig"))?;
        self.child = start(&self.program, &self.home, self.group.as_ref(), address)?;
        self.until_ready()
    }

    /// Records the peak of memory. Fails if the server has ended or has too much.
    pub(super) fn observe(&mut self) -> anyhow::Result<()> {
        if let Some(status) = self.child.try_wait()? {
            bail!("the server has ended with {status}: {}", self.last_words());
        }
        let status = fs::read_to_string(format!("/proc/{}/status", self.child.id())).unwrap_or_default();
        let kilobytes = status.lines().find_map(|line| line.strip_prefix("VmHWM:"));
        let kilobytes = kilobytes.and_then(|line| line.split_whitespace().next()?.parse::<u64>().ok());
        self.peak = self.peak.max(kilobytes.unwrap_or_default() << 10);
        ensure!(self.peak <= MEMORY, "the server has used {} MiB", self.peak >> 20);
        Ok(())
    }

    /// Returns the peak of memory in MiB.
    pub(super) const fn peak_mib(&self) -> u64 {
        self.peak >> 20
    }

    fn until_ready(&mut self) -> anyhow::Result<()> {
        let (began, path) = (shell::now(), self.home.join("kubeconfig"));
        while !path.exists() {
            self.observe()?;
            ensure!(began.elapsed() < START, "the server was not ready: {}", self.last_words());
            pause(Duration::from_millis(10));
        }
        Ok(())
    }

    fn last_words(&self) -> String {
        let log = fs::read_to_string(self.home.join("log")).unwrap_or_default();
        let mut lines: Vec<&str> = log.lines().rev().take(5).collect();
        lines.reverse();
        lines.join(" | ")
    }
}

impl Drop for BesiegedServer {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

impl MemoryGroup {
    fn create() -> Option<Self> {
        let name = format!("machinery-siege-{}", std::process::id());
        let hierarchies =
            [("/sys/fs/cgroup/memory", "memory.limit_in_bytes"), ("/sys/fs/cgroup", "memory.max")];
        hierarchies.into_iter().find_map(|(root, limit)| {
            let group = Self(Path::new(root).join(&name));
            fs::create_dir(&group.0).ok()?;
            fs::write(group.0.join(limit), MEMORY.to_string()).ok()?;
            Some(group) // otherwise it is removed again
        })
    }
}

impl Drop for MemoryGroup {
    fn drop(&mut self) {
        let _ = fs::remove_dir(&self.0);
    }
}

fn build(workspace: &Workspace) -> anyhow::Result<PathBuf> {
    println!("building machinery, optimized ...");
    let mut command = workspace.cargo(["build", "--quiet", "--release", "--package", "machinery-cli"]);
    ensure!(command.status().context("cannot start cargo")?.success(), "machinery does not build");
    Ok(workspace.target.join("release/machinery"))
}

fn start(program: &Path, home: &Path, group: Option<&MemoryGroup>, address: &str) -> anyhow::Result<Child> {
    let log = OpenOptions::new().create(true).append(true).open(home.join("log"))?;
    let output: File = log.try_clone()?;
    let group = group.map(|group| group.0.display().to_string()).unwrap_or_default();
    let mut command = Command::new("sh");
    command.args(["-c", LIMITED, "sh", DESCRIPTORS, &group]).arg(program);
    command.args(["serve", "--listen", address, "--data-dir"]).arg(home.join("data"));
    command.arg("--kubeconfig-out").arg(home.join("kubeconfig"));
    command.stdin(Stdio::null()).stdout(output).stderr(log);
    command.spawn().context("cannot start the server")
}
