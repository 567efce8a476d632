//! All of it in one process: server, controllers and the agents of simulated nodes.

mod reach;
mod samples;

use std::net::Ipv4Addr;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use machinery::objects::{Object as _, WriteError, Written};
use machinery::tokio::time::timeout;
use machinery::{Objects, Plane};

pub use reach::{Reached, pairs, reach};

use crate::agent::{Agent, AgentSettings, ProgramSettings, answer_probes};
use crate::audit::Auditor;
use crate::controllers::{self, ControllerSettings};
use crate::drive::sim::{SimLimits, Underlay};
use crate::drive::{Fabric, LogFabric};
use crate::metrics::Metrics;
use crate::model::{self, NetworkAttachment, Subnet};
use crate::probe::why_not;
use crate::until::until;

/// How much of it.
#[derive(Clone, Debug)]
pub struct UpSettings {
    /// So many nodes: node-1, node-2, …
    pub nodes: usize,
    /// What moves their frames.
    pub fabric: Moves,
    /// Where the objects are kept; in memory, if nowhere.
    pub data: Option<PathBuf>,
    /// What agents may run for attachments.
    pub programs: ProgramSettings,
}

impl Default for UpSettings {
    fn default() -> Self {
        Self { nodes: 1, fabric: Moves::Sim, data: None, programs: ProgramSettings::default() }
    }
}

/// What moves the frames of nodes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Moves {
    /// Switches in memory.
    Sim,
    /// Nothing: it is only said what would be done.
    Log,
}

/// All of it, running.
pub struct Up {
    plane: Plane,
    underlay: Underlay,
    fabric: Moves,
    nodes: Vec<String>,
    agents: Vec<Agent>,
    attachments: Objects<NetworkAttachment>,
    subnets: Objects<Subnet>,
}

/// So long the cache of this process takes at most, to see what was written here.
const PATIENCE: Duration = Duration::from_secs(60);

/// More nodes than any machine has room for.
pub const NODES: usize = 1 << 14;

impl Up {
    /// Begins.
    ///
    /// # Errors
    /// The objects cannot be kept there, or there are too many nodes.
    pub async fn start(settings: UpSettings) -> machinery::Result<Self> {
        let UpSettings { nodes, fabric: moves, data, programs } = settings;
        if nodes == 0 || nodes > NODES {
            return Err(format!("{nodes} nodes: from 1 to {NODES} is possible").into());
        }
        let begin = data.into_iter().fold(machinery::embedded(), |begin, data| begin.data(data));
        let begin = begin.kind_of(model::subnets()).kind_of(model::network_attachments());
        let plane = begin.kind_of(model::ip_locks()).kind_of(model::probes()).start().await?;
        let recorder = plane.recorder("kos");
        let metrics = Metrics::default();
        metrics.show(&plane);
        let settings = ControllerSettings { metrics: metrics.clone(), ..ControllerSettings::default() };
        controllers::run(&plane, settings)?;
        let underlay = Underlay::new(SimLimits { nodes, ..SimLimits::default() });
        let (mut names, mut agents) = (Vec::new(), Vec::new());
        for number in 1..=nodes {
            let (node, host) = (format!("node-{number}"), host(number));
            let fabric: Arc<dyn Fabric> = match moves {
                Moves::Sim => Arc::new(underlay.join(host)?),
                Moves::Log => Arc::new(LogFabric::new()),
            };
            let mut settings = AgentSettings::new(&node, host);
            settings.programs.clone_from(&programs);
            settings.metrics.clone_from(&metrics.agent);
            answer_probes(&plane, &settings, fabric.clone())?;
            agents.push(Agent::run(&plane, settings, fabric, &recorder)?);
            names.push(node);
        }
        let (attachments, subnets) = (plane.objects()?, plane.objects()?);
        Ok(Self { plane, underlay, fabric: moves, nodes: names, agents, attachments, subnets })
    }

    /// Makes the samples that are not there. Whoever looks after that sees them.
    ///
    /// # Errors
    /// The server takes them not.
    pub async fn make_samples(&self) -> machinery::Result {
        for subnet in samples::subnets() {
            there(self.subnets.create(&subnet).await)?;
        }
        let mut last = None;
        for attachment in samples::attachments(&self.nodes) {
            last = there(self.attachments.create(&attachment).await)?.or(last);
        }
        if let Some(Written { token, .. }) = last {
            self.attachments.informer().reached(&token, PATIENCE).await?;
        }
        Ok(())
    }

    /// Waits until each attachment that is there has an interface, and returns them. Tells how many have, as that changes.
    ///
    /// # Errors
    /// Not in time, and which, and why.
    pub async fn all_ready(
        &self,
        patience: Duration,
        mut tell: impl FnMut(usize, usize),
    ) -> machinery::Result<Vec<Arc<NetworkAttachment>>> {
        self.attachments.informer().synced().await?;
        let all = until(&self.attachments, |attachments| {
            let all: Vec<_> = attachments.read().iter().map(|(_, attachment)| attachment.clone()).collect();
            let ready = all.iter().filter(|one| !one.status.ifc_name.is_empty()).count();
            tell(ready, all.len());
            (ready == all.len()).then_some(all)
        });
        if let Ok(all) = timeout(patience, all).await {
            return Ok(all.unwrap_or_default());
        }
        let late = self.attachments.read();
        let mut late = late.iter().filter(|(_, one)| one.status.ifc_name.is_empty());
        let first = late.next().map(|(_, one)| format!("{}: {}", one.key(), why_not(one)));
        Err(format!(
            "not all have an interface after {patience:?}: {}, and {} more",
            first.unwrap_or_default(),
            late.count()
        )
        .into())
    }

    /// The plane that all of it runs on.
    #[must_use]
    pub const fn plane(&self) -> &Plane {
        &self.plane
    }

    /// An auditor of all of it, from now on: of the simulated nodes, too.
    ///
    /// # Errors
    /// None that is known.
    pub fn auditor(&self) -> machinery::Result<Auditor> {
        let auditor = Auditor::run(&self.plane)?;
        for (number, node) in (1..).zip(self.nodes.iter().filter(|_| self.fabric == Moves::Sim)) {
            auditor.looks_at(node, host(number), Arc::new(self.underlay.join(host(number))?));
        }
        Ok(auditor)
    }

    /// The network below, if frames move.
    #[must_use]
    pub const fn underlay(&self) -> &Underlay {
        &self.underlay
    }

    /// The agents, by node.
    #[must_use]
    pub fn agents(&self) -> &[Agent] {
        &self.agents
    }

    /// The subnets.
    #[must_use]
    pub const fn subnets(&self) -> &Objects<Subnet> {
        &self.subnets
    }
}

/// The address of a node in the network below: of those that are for tests.
fn host(number: usize) -> Ipv4Addr {
    let first = u32::from(Ipv4Addr::new(198, 18, 0, 0));
    Ipv4Addr::from(first + u32::try_from(number).unwrap_or(u32::MAX >> 1))
}

/// Nothing, if it was there before.
fn there<T>(made: Result<T, WriteError>) -> Result<Option<T>, WriteError> {
    match made {
        Ok(made) => Ok(Some(made)),
        Err(WriteError::AlreadyExists { .. }) => Ok(None),
        Err(error) => Err(error),
    }
}
