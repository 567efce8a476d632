//! The original's method: a port and its flows by `ovs-vsctl` and `ovs-ofctl`, one process after
//! the other.

use super::hosts::BRIDGE;
use super::network::{address, vni};
use super::tools::{feed, ofctl, run, vsctl};
use anyhow::Context;
use kos::lab::LabHost;
use kos::plan::{LocalInterface, Port, local_flows};
use std::time::{Duration, Instant};

/// Creates local interfaces on a host one by one, and returns the time of each.
pub(super) fn create(host: &LabHost, interfaces: usize) -> anyhow::Result<Vec<Duration>> {
    (0..interfaces)
        .map(|number| {
            let local = LocalInterface::new(vni()?, address(number)?);
            let began = Instant::now();
            create_one(host, &local)?;
            Ok(began.elapsed())
        })
        .collect()
}

fn create_one(host: &LabHost, local: &LocalInterface) -> anyhow::Result<()> {
    let (directory, name) = (&host.run_directory, local.name.as_str());
    run(vsctl(directory).args(["add-port", BRIDGE, name, "--", "set", "interface", name, "type=internal"]))?;
    let port = run(vsctl(directory).args(["get", "interface", name, "ofport"]))?;
    let port = port.trim().parse().with_context(|| format!("{port:?} is no port number"))?;
    let flows: String = local_flows(local, Port(port)).iter().map(|flow| format!("{flow}\n")).collect();
    feed(ofctl(directory, &["--bundle", "add-flows"], BRIDGE).arg("-"), &flows).map(drop)
}
