//! The fabric as its callers see it.

use std::fmt;
use std::future::pending;
use std::net::Ipv4Addr;
use std::sync::Arc;
use std::time::Duration;

use async_trait::async_trait;
use futures::future::{BoxFuture, OptionFuture, join3};
use machinery::controllers::{Disturbance, ItemChange, Progress};
use machinery::sync::Mutex;
use machinery::tokio::sync::{Mutex as AsyncMutex, MutexGuard};
use machinery::tokio::time::timeout;

use super::lookup::FoundInterface;
use super::neighbours::TunnelEnds;
use super::observer::Observer;
use super::state::FabricState;
use super::suspicion::Suspicions;
use super::trace::{self, PathPorts};
use super::{FabricLimits, SwitchConnections};
use crate::drive::ovs::control;
use crate::drive::ovs::links::{EchoRequest, LinkPlace};
use crate::drive::ovs::ovsdb::ConnectionState;
use crate::drive::{
    Fabric, FabricError, FabricRepairs, FabricStatus, FramePath, InterfaceBatch, InterfaceList,
};
use crate::plan::ovs::{SwitchSettings, place_of};
use crate::plan::{AddressKey, Interface, LocalInterface, RemoteInterface};

/// Interval at which a waiting call shows that it waits.
const PATIENCE: Duration = Duration::from_secs(1);

/// The fabric of a node whose switch is Open vSwitch. Cheap to clone.
///
/// The state is in the switch: a second fabric of the node finds it there. Only the holder of the
/// database's lock writes. Dropping the future that [runs](Fabric::run) it closes the connections,
/// which releases the lock; it cannot run again.
#[derive(Clone)]
pub struct OvsFabric(pub(super) Arc<Inner>);

pub(super) struct Inner {
    pub(super) settings: SwitchSettings,
    pub(super) limits: FabricLimits,
    pub(super) connections: SwitchConnections,
    pub(super) suspicions: Suspicions,
    ends: TunnelEnds,
    state: AsyncMutex<FabricState>,
    view: Mutex<FabricStatus>,
    /// The tasks of the connections, until the fabric runs.
    tasks: Mutex<Option<BoxFuture<'static, ()>>>,
}

impl fmt::Debug for OvsFabric {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "OvsFabric({})", self.0.settings.bridge)
    }
}

impl OvsFabric {
    /// Creates a fabric on connections.
    #[must_use]
    pub fn new(settings: SwitchSettings, limits: FabricLimits, connections: SwitchConnections) -> Self {
        Self::with_tasks(settings, limits, connections, Box::pin(pending()))
    }

    /// Creates a fabric whose connections have tasks, which it owns.
    pub(super) fn with_tasks(
        settings: SwitchSettings,
        limits: FabricLimits,
        connections: SwitchConnections,
        tasks: BoxFuture<'static, ()>,
    ) -> Self {
        let suspicions = Suspicions::default();
        let observer = Observer::new(connections.clone(), suspicions.clone());
        let state = AsyncMutex::new(FabricState::new(observer, limits.interfaces));
        let (ends, view) = (TunnelEnds::default(), Mutex::default());
        let tasks = Mutex::new(Some(tasks));
        Self(Arc::new(Inner { settings, limits, connections, suspicions, ends, state, view, tasks }))
    }

    /// Applies one change.
    async fn change(&self, from: Option<Interface>, to: Option<Interface>) -> Result<(), FabricError> {
        let Some(key) = from.as_ref().or(to.as_ref()).map(Interface::key) else { return Ok(()) };
        let batch = InterfaceBatch::new(vec![ItemChange { key, from, to }]);
        self.apply(&batch).await?;
        batch.take_results().remove(&key).unwrap_or(Ok(()))
    }

    /// Returns the local interface of an address.
    async fn local(&self, key: AddressKey, what: &'static str) -> Result<LocalInterface, FabricError> {
        match self.0.find(&key).await.interface {
            Some(Interface::Local(local)) => Ok(local),
            _ => {
                let reason = format!("{} of network {} has no interface on this node", key.address, key.vni);
                Err(FabricError::Failed { what, reason })
            }
        }
    }
}

#[async_trait]
impl Fabric for OvsFabric {
    fn name(&self) -> &'static str {
        "ovs"
    }

    async fn create_local(&self, interface: &LocalInterface) -> Result<(), FabricError> {
        self.change(None, Some(Interface::Local(interface.clone()))).await
    }

    async fn delete_local(&self, interface: &LocalInterface) -> Result<(), FabricError> {
        self.change(Some(Interface::Local(interface.clone())), None).await
    }

    async fn create_remote(&self, interface: &RemoteInterface) -> Result<(), FabricError> {
        self.change(None, Some(Interface::Remote(interface.clone()))).await
    }

    async fn delete_remote(&self, interface: &RemoteInterface) -> Result<(), FabricError> {
        self.change(Some(Interface::Remote(interface.clone())), None).await
    }

    async fn run(&self) {
        let of = &*self.0;
        let tasks = of.tasks.lock().take();
        let watching = of.suspicions.watch(&of.connections);
        let resolving = of.ends.resolve(&*of.connections.control, &of.settings.bridge);
        join3(OptionFuture::from(tasks), watching, resolving).await;
    }

    async fn apply(&self, batch: &InterfaceBatch) -> Result<(), FabricError> {
        let mut state = self.0.turn(batch.progress()).await;
        let done = state.apply(&self.0, batch).await;
        self.0.publish(&state);
        done
    }

    async fn list(&self) -> Result<InterfaceList, FabricError> {
        let mut state = self.0.state.lock().await;
        let listed = state.list(&self.0).await;
        self.0.publish(&state);
        listed
    }

    async fn repair(&self, progress: &Progress) -> Result<FabricRepairs, FabricError> {
        let mut state = self.0.turn(progress).await;
        let repairs = state.repair(&self.0, progress).await;
        self.0.publish(&state);
        repairs
    }

    async fn disturbed(&self) -> Disturbance {
        self.0.suspicions.reported().await
    }

    async fn status(&self) -> FabricStatus {
        let connections = &self.0.connections;
        let is_reachable = connections.database.snapshot().connection == ConnectionState::Connected
            && connections.flows.status().borrow().is_connected;
        FabricStatus { is_reachable, ..self.0.view.lock().clone() }
    }

    async fn ping(&self, from: AddressKey, to: Ipv4Addr, sequence: u16) -> Result<(), FabricError> {
        const WHAT: &str = "a ping";
        let failed = |reason: String| FabricError::Failed { what: WHAT, reason };
        let local = self.local(from, WHAT).await?;
        let LinkPlace::Workload(namespace) = place_of(&self.0.settings, &local)? else {
            let name = &local.name;
            let remedy = "run the agent with --into netns, or ping from the user of the interface";
            return Err(failed(format!("{name} is on the node without an address: {remedy}")));
        };
        let request =
            EchoRequest { namespace, from: from.address, to, sequence, time_limit: self.0.limits.ping };
        self.0.connections.links.ping(&request).await.map_err(|error| failed(error.to_string()))
    }

    async fn explain(&self, path: FramePath) -> Result<Vec<String>, FabricError> {
        let FramePath { from, to, host } = path;
        let found = self.0.find(&from).await;
        let ingress = if host.is_some() { found.tunnel } else { found.port };
        let Some(ingress) = ingress else {
            return Ok(vec![format!("{} of network {} has no interface here", from.address, from.vni)]);
        };
        let origin = match host {
            Some(host) => format!("from {host} by the tunnel of network {}", from.vni),
            None => format!("from {} at port {ingress}", from.address),
        };
        let mut lines = Vec::new();
        for (what, frame) in trace::frames(&path, PathPorts { ingress, host: self.0.settings.host }) {
            lines.push(format!("{what} for {to}, {origin}:"));
            let output = control::trace(&*self.0.connections.control, &self.0.settings.bridge, &frame)
                .await
                .map_err(|error| FabricError::Failed { what: "a trace", reason: error.to_string() })?;
            let owners = self.0.state.lock().await.owners(&trace::cookies(&output));
            lines.extend(trace::steps(&output, &owners));
        }
        Ok(lines)
    }
}

impl Inner {
    /// Waits for the turn of a call. The call before it has a time limit of its own, so the wait is
    /// no lack of progress.
    async fn turn(&self, progress: &Progress) -> MutexGuard<'_, FabricState> {
        let mut turn = std::pin::pin!(self.state.lock());
        loop {
            match timeout(PATIENCE, &mut turn).await {
                Ok(state) => return state,
                Err(_) => progress.made(),
            }
        }
    }

    async fn find(&self, key: &AddressKey) -> FoundInterface {
        self.state.lock().await.find(&self.settings, key)
    }

    /// Publishes the state for readers that send no requests to the switch.
    fn publish(&self, state: &FabricState) {
        let hosts = state.book.iter().filter_map(|(_, interface)| match interface {
            Interface::Remote(remote) => Some(remote.host),
            Interface::Local(_) => None,
        });
        let switch = &state.observer.switch;
        let ports = switch.ports.as_ref();
        let tunnel = ports.and_then(|ports| ports.get(&self.settings.tunnel_port()).copied());
        self.ends.set(hosts.collect(), tunnel);
        let mut view = self.view.lock();
        view.broken = state.broken();
        // Without the tunnel port and the local port.
        view.ports = ports.map_or(0, |ports| ports.len()).saturating_sub(2);
        view.flows = switch.flows.len();
    }
}
