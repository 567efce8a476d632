//! The comparison of a switch with its interfaces, when all flows are correct.

use super::cluster::Cluster;
use super::create::median_of;
use super::hosts::{BRIDGE, Hosts};
use super::refill::{dump, with_peers};
use super::tools::{ofctl, run as run_tool};
use super::watching::received;
use crate::measure::{Figures, count};
use crate::scratch::Scratch;
use anyhow::ensure;
use std::time::{Duration, Instant};

const NODE: u8 = 1;

/// Figures of one run, on the same flows.
pub(super) struct AuditFigures {
    pub(super) ours: Figures,
    pub(super) diff_flows: Figures,
}

pub(super) fn run(scratch: &Scratch, peers: usize, times: usize) -> anyhow::Result<AuditFigures> {
    let hosts = Hosts::start(1)?;
    let host = hosts.host(NODE)?;
    let mut cluster = Cluster::start(scratch, false)?;
    with_peers(&mut cluster, host, (1, peers))?;
    let flows = scratch.path("flows");
    let lines = dump(host, &flows)?;
    ensure!(lines >= peers * 4, "the switch has {lines} flows");
    audit(&cluster)?; // after this the monitor is in place

    let (mut ours, mut theirs) = (Vec::new(), Vec::new());
    for _ in 0..times {
        ours.push(audit(&cluster)?);
        let began = Instant::now();
        run_tool(ofctl(&host.run_directory, &["diff-flows"], BRIDGE).arg(&flows))?;
        theirs.push(began.elapsed());
    }
    let dumps = received(host, "OFPST_FLOW request", || {
        for _ in 0..times {
            audit(&cluster)?;
        }
        Ok(())
    })?;
    let ours = median_of(&ours)?.with("dumps", count(dumps)).with("flows", count(lines));
    Ok(AuditFigures { ours, diff_flows: median_of(&theirs)? })
}

fn audit(cluster: &Cluster) -> anyhow::Result<Duration> {
    let (time, repairs) = cluster.reconcile(NODE)?;
    ensure!(repairs == 0, "an audit repaired {repairs} items of a correct switch");
    Ok(time)
}
