//! Counts of changes and requests at a switch, by OVS's own monitors and logs.

use super::hosts::BRIDGE;
use super::tools::{appctl, ofctl, run};
use anyhow::Context;
use kos::lab::LabHost;
use std::fs::File;
use std::path::PathBuf;
use std::process::{Child, Command, Stdio};
use std::time::Duration;

/// Time for a monitor to subscribe, and for its last events to be written.
const SETTLE: Duration = Duration::from_millis(500);

/// Monitors of the flows and ports of a bridge, until dropped.
pub(super) struct SwitchMonitor {
    flows: Monitor,
    ports: [Monitor; 2],
}

struct Monitor {
    output: PathBuf,
    child: Child,
}

/// Changes since the start of a monitor.
#[derive(Debug, PartialEq)]
pub(super) struct SwitchChanges {
    /// Flows added, changed or deleted.
    pub(super) flows: usize,
    /// Rows of ports and interfaces inserted, changed or deleted.
    pub(super) ports: usize,
}

impl SwitchMonitor {
    pub(super) fn start(host: &LabHost) -> anyhow::Result<Self> {
        let directory = &host.run_directory;
        let mut command = ofctl(directory, &["monitor"], BRIDGE);
        command.arg("watch:!initial");
        let flows = Monitor::start(command, directory.join("flows.monitor"))?;
        let table = |name: &str, columns: &str| {
            let mut command = Command::new("ovsdb-client");
            command.args(["--format=csv", "--no-headings", "monitor"]);
            command.arg(format!("unix:{}", directory.join("db.sock").display()));
            // Columns without statistics, which change by themselves.
            command.args(["Open_vSwitch", name, &format!("!initial,{columns}")]);
            Monitor::start(command, directory.join(format!("{name}.monitor")))
        };
        let ports = table("Port", "name,interfaces,external_ids,tag")?;
        let interfaces = table("Interface", "name,type,options,external_ids,ofport,mac,mtu_request")?;
        std::thread::sleep(SETTLE);
        Ok(Self { flows, ports: [ports, interfaces] })
    }

    /// Stops the monitors, and returns the changes.
    pub(super) fn stop(self) -> anyhow::Result<SwitchChanges> {
        std::thread::sleep(SETTLE);
        let [ports, interfaces] = self.ports;
        let is_row =
            |line: &str| [",insert,", ",delete,", ",old,"].iter().any(|action| line.contains(action));
        Ok(SwitchChanges {
            flows: self.flows.count(|line| line.trim_start().starts_with("event="))?,
            ports: ports.count(is_row)? + interfaces.count(is_row)?,
        })
    }
}

impl Monitor {
    fn start(mut command: Command, output: PathBuf) -> anyhow::Result<Self> {
        let file = File::create(&output)?;
        let child = command
            .stdin(Stdio::null())
            .stdout(file.try_clone()?)
            .stderr(file)
            .spawn()
            .context("cannot start a monitor")?;
        Ok(Self { output, child })
    }

    fn count(mut self, counts: impl Fn(&str) -> bool) -> anyhow::Result<usize> {
        let ended = self.child.try_wait()?;
        let text = std::fs::read_to_string(&self.output)?;
        anyhow::ensure!(ended.is_none(), "a monitor has ended: {text}");
        Ok(text.lines().filter(|line| counts(line)).count())
    }
}

impl Drop for Monitor {
    fn drop(&mut self) {
        // It may have ended by itself, which `count` reports.
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// Counts requests that a switch receives during `work`, by a text of its log of messages.
pub(super) fn received(
    host: &LabHost,
    request: &str,
    work: impl FnOnce() -> anyhow::Result<()>,
) -> anyhow::Result<usize> {
    let level =
        |level: &str| run(appctl(&host.run_directory).args(["vlog/set", &format!("vconn:console:{level}")]));
    let log = host.file("ovs-vswitchd.log");
    let before = std::fs::read_to_string(&log)?.len();
    level("dbg")?;
    let worked = work();
    std::thread::sleep(SETTLE);
    level("info")?;
    worked?;
    let log = std::fs::read_to_string(&log)?;
    let of = format!("received: {request}");
    Ok(log.get(before..).unwrap_or_default().lines().filter(|line| line.contains(&of)).count())
}
