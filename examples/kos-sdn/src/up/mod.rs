//! A whole cluster in one process: server, controllers and the agents of simulated nodes or of a
//! lab's hosts.

mod pings;
mod samples;

use std::net::Ipv4Addr;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use machinery::objects::{Object as _, WriteError, Written};
use machinery::{Objects, Plane, UntilError};

pub use pings::{PingResult, pairs, ping_pairs};

use crate::agent::{Agent, AgentSettings, AgentWriters, ProgramSettings, SWITCH_WORKERS};
use crate::checker::InvariantChecker;
use crate::controllers::{self, ControllerSettings};
use crate::drive::ovs::fabric::{OvsFabric, OvsSettings};
use crate::drive::sim::{SimLimits, Underlay};
use crate::drive::{Fabric, LogFabric};
use crate::lab::LabHost;
use crate::metrics::Metrics;
use crate::model::{self, NetworkAttachment, Subnet};
use crate::plan::ovs::SwitchSettings;
use crate::probe::pending_reason;

/// The settings of a local cluster.
#[derive(Clone, Debug)]
pub struct LocalClusterSettings {
    /// The number of nodes: node-1, node-2, … Ignored in a lab, which has its own.
    pub nodes: usize,
    /// The data path of the nodes.
    pub fabric: ClusterFabric,
    /// The directory of the objects; `None` keeps them in memory.
    pub data: Option<PathBuf>,
    /// The programs that attachments may run.
    pub programs: ProgramSettings,
}

impl Default for LocalClusterSettings {
    fn default() -> Self {
        Self { nodes: 1, fabric: ClusterFabric::Sim, data: None, programs: ProgramSettings::default() }
    }
}

/// The data path of the nodes.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum ClusterFabric {
    /// Switches in memory.
    Sim,
    /// None: calls are only logged.
    Log,
    /// The switches of a lab: one node for each of its hosts.
    Ovs(Vec<LabHost>),
}

/// A running cluster.
pub struct LocalCluster {
    plane: Plane,
    underlay: Underlay,
    nodes: Vec<ClusterNode>,
    agents: Vec<Agent>,
    attachments: Objects<NetworkAttachment>,
    subnets: Objects<Subnet>,
}

/// A node of a cluster.
struct ClusterNode {
    name: String,
    host: Ipv4Addr,
    fabric: Arc<dyn Fabric>,
}

/// Time limit until the cache of this process has caught up with its own writes.
const TIME_LIMIT: Duration = Duration::from_secs(60);

/// Maximum number of nodes, above the capacity of any machine.
pub const NODES: usize = 1 << 14;

impl LocalCluster {
    /// Starts the cluster.
    ///
    /// # Errors
    /// The directory cannot be opened, or the number of nodes is out of range.
    pub async fn start(settings: LocalClusterSettings) -> machinery::Result<Self> {
        let LocalClusterSettings { nodes, fabric: fabric_kind, data, programs } = settings;
        let nodes = if let ClusterFabric::Ovs(hosts) = &fabric_kind { hosts.len() } else { nodes };
        if nodes == 0 || nodes > NODES {
            return Err(format!("{nodes} nodes: must be from 1 to {NODES}").into());
        }
        let builder = data.into_iter().fold(machinery::embedded(), |builder, data| builder.data(data));
        let builder = builder.kind_of(model::subnets()).kind_of(model::network_attachments());
        let plane = builder
            .kind_of(model::ip_locks())
            .kind_of(model::probes())
            .admission(model::AgentWrites)
            .start()
            .await?;
        let recorder = plane.recorder("kos");
        let metrics = Metrics::default();
        plane.add_metrics(&metrics);
        let settings = ControllerSettings { metrics: metrics.clone(), ..ControllerSettings::default() };
        // Before any other reader of these kinds, as it declares the indexes of their informers.
        controllers::run(&plane, settings)?;
        let underlay = Underlay::new(SimLimits { nodes, ..SimLimits::default() });
        let (mut joined, mut agents) = (Vec::new(), Vec::new());
        for node in cluster_nodes(&plane, &underlay, &fabric_kind, nodes)? {
            let ClusterNode { name, host, fabric } = &node;
            let mut settings = AgentSettings::new(name, *host);
            if let ClusterFabric::Ovs(_) = fabric_kind {
                settings.workers = SWITCH_WORKERS;
            }
            settings.programs.clone_from(&programs);
            settings.metrics.clone_from(&metrics.agent);
            settings.writers = plane.server().map(|server| AgentWriters::new(server, name));
            let agent = Agent::run(&plane, settings, fabric.clone(), &recorder)?;
            agent.answer_probes(&plane)?;
            agents.push(agent);
            joined.push(node);
        }
        let (attachments, subnets) = (plane.objects()?, plane.objects()?);
        Ok(Self { plane, underlay, nodes: joined, agents, attachments, subnets })
    }

    /// Creates the samples that are missing, and waits until the cache contains them.
    ///
    /// # Errors
    /// The server rejects a sample.
    pub async fn make_samples(&self) -> machinery::Result {
        for subnet in samples::subnets() {
            existing(self.subnets.create(&subnet).await)?;
        }
        let mut last = None;
        for attachment in samples::attachments(self.nodes.iter().map(|node| &*node.name)) {
            last = existing(self.attachments.create(&attachment).await)?.or(last);
        }
        if let Some(Written { token, .. }) = last {
            self.attachments.informer().wait_for(&token, TIME_LIMIT).await?;
        }
        Ok(())
    }

    /// Waits until every attachment has an interface, and returns them. Calls `progress` with the
    /// number of ready ones and of all.
    ///
    /// # Errors
    /// The time limit is reached; the text names an attachment and the reason.
    pub async fn all_ready(
        &self,
        time_limit: Duration,
        mut progress: impl FnMut(usize, usize),
    ) -> machinery::Result<Vec<Arc<NetworkAttachment>>> {
        self.attachments.informer().synced().await?;
        let all = self.attachments.until(time_limit, |attachments| {
            let all: Vec<_> = attachments.read().iter().map(|(_, attachment)| attachment.clone()).collect();
            let ready = all.iter().filter(|one| !one.status.ifc_name.is_empty()).count();
            progress(ready, all.len());
            (ready == all.len()).then_some(all)
        });
        match all.await {
            Ok(all) => return Ok(all),
            Err(error @ UntilError::Stopped { .. }) => return Err(error.into()),
            Err(_) => {}
        }
        let late = self.attachments.read();
        let mut late = late.iter().filter(|(_, one)| one.status.ifc_name.is_empty());
        let first = late.next().map(|(_, one)| format!("{}: {}", one.key(), pending_reason(one)));
        Err(format!(
            "not all have an interface after {time_limit:?}: {}, and {} more",
            first.unwrap_or_default(),
            late.count()
        )
        .into())
    }

    /// Returns the plane.
    #[must_use]
    pub const fn plane(&self) -> &Plane {
        &self.plane
    }

    /// Starts an invariant checker of the server and of nodes with switches.
    ///
    /// # Errors
    /// None in practice.
    pub fn checker(&self) -> machinery::Result<InvariantChecker> {
        let checker = InvariantChecker::run(&self.plane)?;
        for ClusterNode { name, host, fabric } in &self.nodes {
            match fabric.name() {
                "log" => {}
                "sim" => checker.watch_node(name, *host, fabric.clone()),
                _ => checker.sample_node(name, *host, fabric.clone()),
            }
        }
        Ok(checker)
    }

    /// Returns the underlay of the simulated nodes.
    #[must_use]
    pub const fn underlay(&self) -> &Underlay {
        &self.underlay
    }

    /// Returns the agents, in the order of their nodes.
    #[must_use]
    pub fn agents(&self) -> &[Agent] {
        &self.agents
    }

    /// Returns the cached subnets.
    #[must_use]
    pub const fn subnets(&self) -> &Objects<Subnet> {
        &self.subnets
    }
}

/// Returns the nodes with their fabrics.
fn cluster_nodes(
    plane: &Plane,
    underlay: &Underlay,
    fabric: &ClusterFabric,
    nodes: usize,
) -> machinery::Result<Vec<ClusterNode>> {
    if let ClusterFabric::Ovs(hosts) = fabric {
        return hosts.iter().map(|host| switch_of(plane, host)).collect();
    }
    let node = |number: usize| {
        let fabric: Arc<dyn Fabric> = match fabric {
            ClusterFabric::Log => Arc::new(LogFabric::new()),
            _ => Arc::new(underlay.join(host(number))?),
        };
        Ok(ClusterNode { name: format!("node-{number}"), host: host(number), fabric })
    };
    (1..=nodes).map(node).collect()
}

/// Returns a node whose fabric is the switch of a host, with interfaces in namespaces.
fn switch_of(plane: &Plane, host: &LabHost) -> machinery::Result<ClusterNode> {
    let mut switch = SwitchSettings::new(&host.node, host.address);
    switch.into_namespaces = true;
    let settings = OvsSettings::new(switch, &host.run_directory);
    let (fabric, running) = OvsFabric::start(settings, plane.stopping().clone())?;
    plane.run(|_| running);
    Ok(ClusterNode { name: host.node.clone(), host: host.address, fabric: Arc::new(fabric) })
}

/// Returns the underlay address of a node, from the block for benchmarks (RFC 2544).
fn host(number: usize) -> Ipv4Addr {
    let first = u32::from(Ipv4Addr::new(198, 18, 0, 0));
    Ipv4Addr::from(first + u32::try_from(number).unwrap_or(u32::MAX >> 1))
}

/// Returns `None` if the object existed.
fn existing<T>(made: Result<T, WriteError>) -> Result<Option<T>, WriteError> {
    match made {
        Ok(made) => Ok(Some(made)),
        Err(WriteError::AlreadyExists { .. }) => Ok(None),
        Err(error) => Err(error),
    }
}
