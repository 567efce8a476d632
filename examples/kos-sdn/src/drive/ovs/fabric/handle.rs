//! The fabric as its callers see it.

use std::net::Ipv4Addr;
use std::sync::Arc;

use async_trait::async_trait;
use machinery::tokio::sync::{mpsc, oneshot};
use machinery::tokio_util::sync::CancellationToken;

use super::actor::Actor;
use super::request::{FabricRequest, Respond};
use super::shared::FabricState;
use super::suspicion::Suspicions;
use super::trace::{self, PathPorts};
use super::{FabricLimits, SwitchConnections};
use crate::drive::ovs::control;
use crate::drive::ovs::links::{EchoRequest, LinkPlace};
use crate::drive::ovs::ovsdb::ConnectionState;
use crate::drive::{Fabric, FabricError, FabricRepairs, FabricStatus, FramePath, InterfaceList};
use crate::plan::ovs::{SwitchSettings, place_of};
use crate::plan::{AddressKey, Interface, LocalInterface, RemoteInterface};

/// The fabric of a node whose switch is Open vSwitch. Cheap to clone.
///
/// The state is in the switch: a second fabric of the node finds it there. Only the holder of the
/// database's lock writes.
#[derive(Clone, Debug)]
pub struct OvsFabric {
    requests: mpsc::Sender<FabricRequest>,
    shared: Arc<FabricState>,
    settings: Arc<SwitchSettings>,
    limits: FabricLimits,
    connections: SwitchConnections,
}

impl OvsFabric {
    /// Creates a fabric, and the future that runs it until cancelled.
    pub fn new(
        settings: SwitchSettings,
        limits: FabricLimits,
        connections: SwitchConnections,
        stopping: CancellationToken,
    ) -> (Self, impl Future<Output = ()> + Send + use<>) {
        let (sender, receiver) = mpsc::channel(limits.requests.max(1));
        let (settings, shared) = (Arc::new(settings), Arc::<FabricState>::default());
        let suspicions = Suspicions::default();
        let actor = Actor::new(
            (settings.clone(), limits.clone()),
            connections.clone(),
            shared.clone(),
            suspicions.clone(),
        );
        let fabric = Self { requests: sender, shared, settings, limits, connections: connections.clone() };
        let bridge = fabric.settings.bridge.clone();
        let running = async move {
            let watching = suspicions.watch(&connections);
            let ends = actor.tunnel_ends().clone();
            let resolving = ends.resolve(&*connections.control, &bridge);
            let acting = actor.run(receiver);
            machinery::tokio::select! {
                biased;
                () = stopping.cancelled() => {}
                () = acting => {}
                () = watching => {}
                () = resolving => {}
            }
        };
        (fabric, running)
    }

    async fn request<T>(&self, make: impl FnOnce(Respond<T>) -> FabricRequest) -> Result<T, FabricError> {
        let stopped = || FabricError::Unavailable { reason: "the fabric has stopped".into() };
        let (respond, response) = oneshot::channel();
        self.requests.send(make(respond)).await.map_err(|_| stopped())?;
        response.await.map_err(|_| stopped())?
    }

    /// Returns the local interface of an address.
    async fn local(&self, key: AddressKey, what: &'static str) -> Result<LocalInterface, FabricError> {
        match self.request(|respond| FabricRequest::Find(key, respond)).await?.interface {
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
        self.request(|respond| FabricRequest::Create(Interface::Local(interface.clone()), respond)).await
    }

    async fn delete_local(&self, interface: &LocalInterface) -> Result<(), FabricError> {
        self.request(|respond| FabricRequest::Delete(Interface::Local(interface.clone()), respond)).await
    }

    async fn create_remote(&self, interface: &RemoteInterface) -> Result<(), FabricError> {
        self.request(|respond| FabricRequest::Create(Interface::Remote(interface.clone()), respond)).await
    }

    async fn delete_remote(&self, interface: &RemoteInterface) -> Result<(), FabricError> {
        self.request(|respond| FabricRequest::Delete(Interface::Remote(interface.clone()), respond)).await
    }

    async fn list(&self) -> Result<InterfaceList, FabricError> {
        self.request(FabricRequest::List).await
    }

    async fn reconcile(&self) -> Result<FabricRepairs, FabricError> {
        self.request(FabricRequest::Reconcile).await
    }

    async fn disturbed(&self) {
        self.shared.disturbance.taken().await;
    }

    async fn status(&self) -> FabricStatus {
        let is_connected = self.connections.database.snapshot().connection == ConnectionState::Connected
            && self.connections.flows.status().borrow().is_connected;
        let view = self.shared.view.lock();
        FabricStatus {
            is_reachable: is_connected,
            ports: view.ports,
            flows: view.flows,
            broken: view.broken.clone(),
        }
    }

    async fn ping(&self, from: AddressKey, to: Ipv4Addr, sequence: u16) -> Result<(), FabricError> {
        const WHAT: &str = "a ping";
        let failed = |reason: String| FabricError::Failed { what: WHAT, reason };
        let local = self.local(from, WHAT).await?;
        let LinkPlace::Workload(namespace) = place_of(&self.settings, &local)? else {
            let name = &local.name;
            let remedy = "run the agent with --into netns, or ping from the user of the interface";
            return Err(failed(format!("{name} is on the node without an address: {remedy}")));
        };
        let request =
            EchoRequest { namespace, from: from.address, to, sequence, time_limit: self.limits.ping };
        self.connections.links.ping(&request).await.map_err(|error| failed(error.to_string()))
    }

    async fn explain(&self, path: FramePath) -> Result<Vec<String>, FabricError> {
        let FramePath { from, to, host } = path;
        let found = self.request(|respond| FabricRequest::Find(from, respond)).await?;
        let ingress = if host.is_some() { found.tunnel } else { found.port };
        let Some(ingress) = ingress else {
            return Ok(vec![format!("{} of network {} has no interface here", from.address, from.vni)]);
        };
        let origin = match host {
            Some(host) => format!("from {host} by the tunnel of network {}", from.vni),
            None => format!("from {} at port {ingress}", from.address),
        };
        let mut lines = Vec::new();
        for (what, frame) in trace::frames(&path, PathPorts { ingress, host: self.settings.host }) {
            lines.push(format!("{what} for {to}, {origin}:"));
            let output = control::trace(&*self.connections.control, &self.settings.bridge, &frame)
                .await
                .map_err(|error| FabricError::Failed { what: "a trace", reason: error.to_string() })?;
            let owners =
                self.request(|respond| FabricRequest::Owners(trace::cookies(&output), respond)).await?;
            lines.extend(trace::steps(&output, &owners));
        }
        Ok(lines)
    }
}
