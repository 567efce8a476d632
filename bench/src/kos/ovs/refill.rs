//! The restart of a switch, which loses its flows.

use super::cluster::{Cluster, ELSEWHERE};
use super::hosts::{BRIDGE, Hosts, bridge_accepts};
use super::network::workload;
use super::table_stats::TableStats;
use super::tools::{ip, ofctl, run as run_tool};
use crate::measure::{Figures, count};
use crate::scratch::Scratch;
use anyhow::{bail, ensure};
use kos::lab::LabHost;
use std::path::Path;
use std::time::{Duration, Instant};

const NODE: u8 = 1;
/// Flows of one interface.
const FLOWS: usize = 4;
const POLL: Duration = Duration::from_millis(2);
const LINK_POLL: Duration = Duration::from_millis(20);
const TIME_LIMIT: Duration = Duration::from_secs(120);

/// Figures of one run, on the same flows.
pub(super) struct RefillFigures {
    pub(super) ours: Figures,
    pub(super) replace_flows: Figures,
}

pub(super) fn run(scratch: &Scratch, locals: usize, peers: usize) -> anyhow::Result<RefillFigures> {
    let hosts = Hosts::start(1)?;
    let host = hosts.host(NODE)?;
    let mut cluster = Cluster::start(scratch, true)?;
    with_peers(&mut cluster, host, (locals, peers))?;
    let flows = scratch.path("flows");
    let lines = dump(host, &flows)?;
    ensure!(lines >= (peers + locals) * FLOWS, "the switch has {lines} flows");

    let (began, refilled) = hosts.restart_switch(NODE, |host| {
        let socket = bridge_accepts(host)?;
        let began = Instant::now();
        let mut stats = TableStats::new(socket)?;
        // The flows of a local port follow its move into its namespace.
        until("the flows of all peers are back", POLL, || Ok(stats.flows()? >= lines - locals * FLOWS))?;
        let refilled = began.elapsed();
        until("all flows are back", POLL, || Ok(stats.flows()? == lines))?;
        Ok((began, [refilled, began.elapsed()]))
    })?;
    let [peers_ms, all_ms] = refilled.map(|time| time.as_secs_f64() * 1e3);
    let ours = Figures::default().with("ms", peers_ms).with("all_ms", all_ms);
    for number in 0..locals {
        until("all links are back", LINK_POLL, || has_carrier(&workload(NODE, number)))?;
    }
    let ours = ours.with("links_ms", began.elapsed().as_secs_f64() * 1e3).with("flows", count(lines));

    cluster.stop_agent(NODE);
    let replaced = hosts.restart_switch(NODE, |host| {
        drop(bridge_accepts(host)?);
        let began = Instant::now();
        run_tool(ofctl(&host.run_directory, &["replace-flows"], BRIDGE).arg(&flows))?;
        Ok(began.elapsed())
    })?;
    let replace_flows = Figures::default().with("ms", replaced.as_secs_f64() * 1e3);
    let now = TableStats::new(bridge_accepts(host)?)?.flows()?;
    ensure!(now == lines, "replace-flows made {now} flows of {lines}");
    Ok(RefillFigures { ours, replace_flows })
}

/// Starts both agents, and creates local attachments and their peers.
pub(super) fn with_peers(
    cluster: &mut Cluster,
    host: &LabHost,
    (locals, peers): (usize, usize),
) -> anyhow::Result<()> {
    cluster.start_agent(NODE, host)?;
    cluster.start_agent_elsewhere()?;
    cluster.until_adopted(NODE)?;
    cluster.attach(NODE, 0..locals)?;
    cluster.attach(ELSEWHERE, 0..peers)?;
    cluster.until_implemented(NODE, 0..locals)?;
    cluster.until_implemented(ELSEWHERE, 0..peers)?;
    cluster.until_interfaces(NODE, locals + peers)
}

/// Writes the flows of a bridge to a file, as OVS's tools read them, and returns their number.
pub(super) fn dump(host: &LabHost, file: &Path) -> anyhow::Result<usize> {
    let dumped =
        run_tool(&mut ofctl(&host.run_directory, &["--no-stats", "--no-names", "dump-flows"], BRIDGE))?;
    let flows: Vec<&str> = dumped.lines().filter(|line| line.contains("actions=")).collect();
    std::fs::write(file, flows.join("\n") + "\n")?;
    Ok(flows.len())
}

/// Returns whether a workload's namespace has a live link; the orphan of a killed switch has no
/// carrier.
fn has_carrier(namespace: &str) -> anyhow::Result<bool> {
    let links = run_tool(&mut ip(&format!("-n {namespace} -o link show up")))?;
    Ok(links.lines().any(|line| !line.contains("LOOPBACK") && line.contains("LOWER_UP")))
}

fn until(
    condition: &str,
    poll: Duration,
    mut holds: impl FnMut() -> anyhow::Result<bool>,
) -> anyhow::Result<()> {
    let end = Instant::now() + TIME_LIMIT;
    while !holds()? {
        if Instant::now() >= end {
            bail!("not after {TIME_LIMIT:?}: {condition}");
        }
        std::thread::sleep(poll);
    }
    Ok(())
}
