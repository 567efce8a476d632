//! The control plane of this process: server and controllers, and agents of hosts. Agents have a
//! plane of their own each, over TLS, so that one can be restarted.

use super::fabric;
use super::network::{NAMESPACE, attachment, attachment_name, node, subnet};
use crate::kos::agents::config;
use crate::measure::count;
use crate::scratch::Scratch;
use anyhow::{Context, anyhow, bail};
use futures::{StreamExt, TryStreamExt, stream};
use kos::agent::{Agent, AgentSettings, SWITCH_WORKERS};
use kos::controllers::{self, ControllerSettings};
use kos::drive::{Fabric, LogFabric};
use kos::lab::LabHost;
use kos::model::{self, NetworkAttachment, Section, Subnet};
use kos::probe::pending_reason;
use machinery::apiserver::Listen;
use machinery::controllers::Progress;
use machinery::objects::ObjectKey;
use machinery::{Objects, Plane};
use std::collections::BTreeMap;
use std::net::{Ipv4Addr, SocketAddr};
use std::path::PathBuf;
use std::sync::Arc;
use std::time::{Duration, Instant};
use tokio::runtime::{Builder, Runtime};

/// The number of the node without a switch: its fabric only logs.
pub(super) const ELSEWHERE: u8 = 0;
/// Its underlay address, which no host has.
const ELSEWHERE_HOST: Ipv4Addr = Ipv4Addr::new(198, 51, 100, 7);

/// Creations in flight.
const IN_FLIGHT: usize = 64;
const POLL: Duration = Duration::from_millis(1);
const SLOW_POLL: Duration = Duration::from_millis(20);
/// Limit of each wait.
const TIME_LIMIT: Duration = Duration::from_secs(600);

pub(super) struct Cluster {
    runtime: Runtime,
    control: Plane,
    attachments: Objects<NetworkAttachment>,
    kubeconfig: PathBuf,
    agents: BTreeMap<u8, NodeAgent>,
    /// Whether interfaces are moved into namespaces named after their attachments.
    into_namespaces: bool,
}

struct NodeAgent {
    plane: Plane,
    agent: Agent,
    fabric: Arc<dyn Fabric>,
}

/// The server's timestamps of an attachment, in milliseconds.
#[derive(Clone, Copy, Debug)]
pub(super) struct Times {
    pub(super) addressed: f64,
    pub(super) implemented: f64,
}

impl Cluster {
    /// Starts server and controllers with one subnet.
    pub(super) fn start(scratch: &Scratch, into_namespaces: bool) -> anyhow::Result<Self> {
        let directory = scratch.path("cluster");
        // Files of an earlier cluster.
        let _ = std::fs::remove_dir_all(&directory);
        std::fs::create_dir_all(&directory)?;
        let kubeconfig = directory.join("kubeconfig");
        let runtime = Builder::new_multi_thread().worker_threads(2).enable_all().build()?;
        let started = runtime.block_on(async {
            let begin = machinery::embedded().kind_of(model::subnets()).kind_of(model::network_attachments());
            let control = begin.kind_of(model::ip_locks()).start().await?;
            controllers::run(&control, ControllerSettings::default())?;
            let server = control.server().ok_or("the server is elsewhere")?;
            let listen = Listen::at(SocketAddr::from(([127, 0, 0, 1], 0)), directory);
            server.listen(Listen { kubeconfig: Some(kubeconfig.clone()), ..listen }).await?;
            let attachments = control.objects()?;
            control.objects::<Subnet>()?.create(&subnet()?).await?;
            machinery::Result::Ok((control, attachments))
        });
        let (control, attachments) = started.map_err(|error: machinery::Error| anyhow!(error))?;
        Ok(Self { runtime, control, attachments, kubeconfig, agents: BTreeMap::new(), into_namespaces })
    }

    /// Starts the agent of a host, without waiting for it.
    pub(super) fn start_agent(&mut self, number: u8, host: &LabHost) -> anyhow::Result<()> {
        let fabric = fabric::start(&self.runtime, host, self.into_namespaces)?;
        self.run_agent(number, host.address, fabric)
    }

    /// Starts the agent of the node without a switch: its attachments are the peers of others.
    pub(super) fn start_agent_elsewhere(&mut self) -> anyhow::Result<()> {
        self.run_agent(ELSEWHERE, ELSEWHERE_HOST, Arc::new(LogFabric::new()))
    }

    fn run_agent(&mut self, number: u8, host: Ipv4Addr, fabric: Arc<dyn Fabric>) -> anyhow::Result<()> {
        let started = self.runtime.block_on(async {
            let plane = machinery::kube_config(config(&self.kubeconfig).await?).start().await?;
            let mut settings = AgentSettings::new(&node(number), host);
            // The measured reconciliations are requested.
            settings.reconcile_interval = Duration::from_secs(3600);
            settings.workers = SWITCH_WORKERS;
            let agent = Agent::run(&plane, settings, fabric.clone(), &plane.recorder("kos-agent"))?;
            machinery::Result::Ok((plane, agent))
        });
        let (plane, agent) = started.map_err(|error: machinery::Error| anyhow!(error))?;
        self.agents.insert(number, NodeAgent { plane, agent, fabric });
        Ok(())
    }

    /// Stops an agent. Its interfaces stay.
    pub(super) fn stop_agent(&mut self, number: u8) {
        if let Some(agent) = self.agents.remove(&number) {
            // With the agent end its connections: the next fabric needs the lock of the database.
            self.runtime.block_on(agent.plane.stop());
        }
    }

    /// Waits until an agent has adopted the interfaces of its node.
    pub(super) fn until_adopted(&self, number: u8) -> anyhow::Result<()> {
        let agent = self.agent(number)?;
        self.until("an agent is ready", POLL, || Ok(agent.agent.is_ready().then_some(())))
    }

    /// Waits until an agent has this many interfaces.
    pub(super) fn until_interfaces(&self, number: u8, interfaces: usize) -> anyhow::Result<()> {
        let agent = self.agent(number)?;
        self.until("all interfaces exist", SLOW_POLL, || {
            Ok((agent.agent.interfaces().len() == interfaces).then_some(()))
        })
    }

    /// Creates attachments on a node, several at once.
    pub(super) fn attach(&mut self, on: u8, numbers: std::ops::Range<usize>) -> anyhow::Result<()> {
        self.runtime.block_on(async {
            let creations = stream::iter(numbers).map(|number| {
                let attachments = &self.attachments;
                async move { attachments.create(&attachment(on, number)).await.map(drop) }
            });
            creations.buffer_unordered(IN_FLIGHT).try_collect::<()>().await.context("cannot attach")
        })
    }

    /// Waits until attachments of a node are implemented, and returns their timestamps.
    pub(super) fn until_implemented(
        &self,
        on: u8,
        numbers: std::ops::Range<usize>,
    ) -> anyhow::Result<Vec<Times>> {
        let mut times = Vec::new();
        for number in numbers {
            let key = ObjectKey::new(Some(NAMESPACE), &attachment_name(on, number))?;
            let mut pending = String::new();
            let waited = self.until("an attachment is implemented", POLL, || {
                let Some(attachment) = self.attachments.get(&key) else { return Ok(None) };
                pending = pending_reason(&attachment);
                times_of(&attachment)
            });
            times.push(waited.with_context(|| format!("{key}: {pending}"))?);
        }
        Ok(times)
    }

    /// Waits until attachments of a node have addresses.
    pub(super) fn until_addressed(&self, on: u8, attachments: usize) -> anyhow::Result<()> {
        for number in 0..attachments {
            self.address(on, number)?;
        }
        Ok(())
    }

    /// Returns the address of an attachment, once it has one.
    pub(super) fn address(&self, on: u8, number: usize) -> anyhow::Result<Ipv4Addr> {
        let key = ObjectKey::new(Some(NAMESPACE), &attachment_name(on, number))?;
        self.until("an attachment has an address", POLL, || {
            Ok(self.attachments.get(&key).and_then(|attachment| attachment.status.ipv4.parse().ok()))
        })
    }

    /// Reconciles the fabric of a node, and returns the time and the number of repairs.
    pub(super) fn reconcile(&self, number: u8) -> anyhow::Result<(Duration, usize)> {
        let fabric = &self.agent(number)?.fabric;
        let began = Instant::now();
        let repairs = self.runtime.block_on(fabric.repair(&Progress::default()))?;
        Ok((began.elapsed(), repairs.total()))
    }

    fn agent(&self, number: u8) -> anyhow::Result<&NodeAgent> {
        self.agents.get(&number).with_context(|| format!("{} has no agent", node(number)))
    }

    fn until<T>(
        &self,
        condition: &str,
        poll: Duration,
        mut find: impl FnMut() -> anyhow::Result<Option<T>>,
    ) -> anyhow::Result<T> {
        let end = Instant::now() + TIME_LIMIT;
        loop {
            match find()? {
                Some(found) => return Ok(found),
                None if Instant::now() >= end => bail!("not after {TIME_LIMIT:?}: {condition}"),
                None => std::thread::sleep(poll),
            }
        }
    }
}

/// Returns the timestamps of an attachment that is implemented.
fn times_of(attachment: &NetworkAttachment) -> anyhow::Result<Option<Times>> {
    if attachment.status.ifc_name.is_empty() || attachment.status.host_ip.is_empty() {
        return Ok(None);
    }
    let at = |section| {
        let time = attachment.extended_metadata.written(section).context("the server stamps each section")?;
        let us = usize::try_from(time.as_microsecond())?;
        anyhow::Ok(count(us) / 1e3)
    };
    Ok(Some(Times { addressed: at(Section::Address)?, implemented: at(Section::Implementation)? }))
}

impl Drop for Cluster {
    fn drop(&mut self) {
        while let Some(number) = self.agents.keys().next().copied() {
            self.stop_agent(number);
        }
        self.runtime.block_on(self.control.stop());
    }
}
