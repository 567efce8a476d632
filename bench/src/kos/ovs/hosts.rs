//! The hosts of a run: a lab of `kos` in a directory of its own.
//!
//! The lab is removed at the end. A guard process removes it, too, when this program has ended for
//! any reason before.

use super::tools::{run as run_tool, vsctl};
use anyhow::{Context, bail};
use kos::lab::{Daemon, Lab, LabError, LabHost, LabSettings};
use std::os::unix::net::UnixStream;
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};
use tokio::runtime::{Builder, Runtime};

/// The name of the bridge for tenants.
pub(super) const BRIDGE: &str = "kos";

/// Limit of the wait for a socket, and of the guard for the end of this program.
const TIME_LIMIT: Duration = Duration::from_secs(60);
const POLL: Duration = Duration::from_millis(1);

/// The command of the guard.
pub(crate) const GUARD: &str = "kos-lab-guard";

pub(super) struct Hosts {
    runtime: Runtime,
    lab: Option<Lab>,
    directory: PathBuf,
    guard: Child,
}

impl Hosts {
    /// Makes the hosts 1 to `hosts`.
    pub(super) fn start(hosts: usize) -> anyhow::Result<Self> {
        let runtime = Builder::new_multi_thread().worker_threads(1).enable_all().build()?;
        // Sockets have short paths.
        let name = format!("mb{}", std::process::id());
        let directory = std::env::temp_dir().join(&name);
        let guard = guard(&directory)?;
        let mut this = Self { runtime, lab: None, directory: directory.clone(), guard };
        let mut settings = LabSettings::new(directory, hosts);
        settings.name = name;
        this.lab = Some(this.runtime.block_on(Lab::up(settings))?);
        Ok(this)
    }

    pub(super) fn host(&self, number: u8) -> anyhow::Result<&LabHost> {
        let hosts = self.lab.as_ref().map(Lab::hosts).unwrap_or_default();
        let at = usize::from(number).checked_sub(1).context("hosts are counted from 1")?;
        hosts.get(at).with_context(|| format!("there are {} hosts", hosts.len()))
    }

    /// Kills ovs-vswitchd of a host, and starts another. Calls `work` while it starts.
    pub(super) fn restart_switch<T>(
        &self,
        number: u8,
        work: impl FnOnce(&LabHost) -> anyhow::Result<T>,
    ) -> anyhow::Result<T> {
        let (host, lab) = (self.host(number)?, self.lab.as_ref().context("the lab is up")?);
        self.runtime.block_on(lab.kill(host, Daemon::Switch))?;
        std::thread::scope(|scope| {
            let starting = scope.spawn(|| self.runtime.block_on(lab.start(host, Daemon::Switch)));
            let worked = work(host);
            match starting.join() {
                Ok(started) => started?,
                Err(_) => bail!("the start of ovs-vswitchd panicked"),
            }
            worked
        })
    }
}

impl Drop for Hosts {
    fn drop(&mut self) {
        let lab = self.lab.take();
        let removed = self.runtime.block_on(async {
            match lab {
                Some(lab) => lab.down().await,
                None => kos::lab::down(&self.directory).await,
            }
        });
        if let Err(error) = removed {
            eprintln!("the lab in {} is left behind: {error}", self.directory.display());
        }
        drop(self.guard.stdin.take()); // the end of its input ends it
        if let Err(error) = self.guard.wait() {
            eprintln!("the guard of the lab did not end: {error}");
        }
    }
}

/// Adds the bridge with its tunnel port by `ovs-vsctl`, as an administrator would.
pub(super) fn add_bridge(host: &LabHost) -> anyhow::Result<()> {
    let local = format!("options:local_ip={}", host.address);
    run_tool(
        vsctl(&host.run_directory)
            .args(["add-br", BRIDGE, "--", "set", "bridge", BRIDGE, "datapath_type=netdev"])
            .args(["fail_mode=secure", "protocols=OpenFlow15", "--", "add-port", BRIDGE, "vtep"])
            .args(["--", "set", "interface", "vtep", "type=vxlan", "options:key=flow"])
            .args(["options:remote_ip=flow", &local]),
    )
    .map(drop)
}

/// Waits until the management socket of the bridge accepts connections, and returns the connection.
pub(super) fn bridge_accepts(host: &LabHost) -> anyhow::Result<UnixStream> {
    let (path, end) = (host.file(&format!("{BRIDGE}.mgmt")), Instant::now() + TIME_LIMIT);
    loop {
        match UnixStream::connect(&path) {
            Ok(stream) => return Ok(stream),
            Err(error) if Instant::now() >= end => {
                bail!("{} accepts no connection: {error}", path.display())
            }
            Err(_) => std::thread::sleep(POLL),
        }
    }
}

/// Starts the guard of a lab, outside of the process group, so that an interrupt does not end it.
fn guard(directory: &Path) -> anyhow::Result<Child> {
    let program = std::env::current_exe().context("cannot say where this program is")?;
    let mut command = Command::new(program);
    command.arg(GUARD).arg(directory).stdin(Stdio::piped()).stdout(Stdio::null()).process_group(0);
    command.spawn().context("cannot start the guard of the lab")
}

/// The guard: waits until the standard input closes, then removes the lab if it is still there.
pub(crate) fn serve_guard(directory: &Path) -> anyhow::Result<()> {
    // Any end of the other process is the end of the input.
    let _ = std::io::copy(&mut std::io::stdin(), &mut std::io::sink());
    let runtime = Builder::new_current_thread().enable_all().build()?;
    let end = Instant::now() + TIME_LIMIT;
    loop {
        match runtime.block_on(kos::lab::down(directory)) {
            // The other process is about to end.
            Err(LabError::Busy { .. }) if Instant::now() < end => std::thread::sleep(POLL * 100),
            removed => return Ok(removed?),
        }
    }
}
