//! The restart of an agent with a complete switch.

use super::cluster::{Cluster, ELSEWHERE};
use super::hosts::Hosts;
use super::watching::SwitchMonitor;
use crate::measure::{Figures, count};
use crate::scratch::Scratch;
use std::time::{Duration, Instant};

const NODE: u8 = 1;
/// Time after an agent is ready in which it could still change the switch.
const AFTERWARDS: Duration = Duration::from_secs(2);

/// Figures of one run: the agent's first start, which creates everything, and its second.
pub(super) struct AdoptFigures {
    pub(super) create: Figures,
    pub(super) adopt: Figures,
}

pub(super) fn run(scratch: &Scratch, locals: usize, peers: usize) -> anyhow::Result<AdoptFigures> {
    let hosts = Hosts::start(1)?;
    let host = hosts.host(NODE)?;
    let mut cluster = Cluster::start(scratch, false)?;
    cluster.start_agent_elsewhere()?;
    cluster.attach(ELSEWHERE, 0..peers)?;
    cluster.until_implemented(ELSEWHERE, 0..peers)?;
    // No agent of this node yet: both starts begin with the same objects.
    cluster.attach(NODE, 0..locals)?;
    cluster.until_addressed(NODE, locals)?;

    let began = Instant::now();
    cluster.start_agent(NODE, host)?;
    cluster.until_interfaces(NODE, locals + peers)?;
    let create = Figures::default().with("s", began.elapsed().as_secs_f64());
    cluster.until_implemented(NODE, 0..locals)?;
    cluster.stop_agent(NODE);

    let monitor = SwitchMonitor::start(host)?;
    let began = Instant::now();
    cluster.start_agent(NODE, host)?;
    cluster.until_adopted(NODE)?;
    let adopt = Figures::default().with("s", began.elapsed().as_secs_f64());
    cluster.until_interfaces(NODE, locals + peers)?;
    std::thread::sleep(AFTERWARDS);
    let changes = monitor.stop()?;
    let adopt = adopt.with("flow_mods", count(changes.flows)).with("port_changes", count(changes.ports));
    Ok(AdoptFigures { create, adopt })
}
