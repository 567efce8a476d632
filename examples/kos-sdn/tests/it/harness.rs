//! A harness with controllers and agents over the simulated network, under the invariant checker.

use std::net::Ipv4Addr;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::time::Duration;

use async_trait::async_trait;
use kos::agent::{Agent, AgentSettings};
use kos::checker::InvariantChecker;
use kos::controllers::{self, ControllerSettings};
use kos::drive::sim::{PingError, SimLimits, Underlay};
use kos::drive::{Fabric, FabricError, FabricRepairs, FabricStatus, InterfaceList};
use kos::model::{NetworkAttachment, Subnet, ip_locks, network_attachments, subnets};
use kos::plan::{AddressKey, LocalInterface, RemoteInterface};
use machinery::apiserver::ApiServer;
use machinery::controllers::Recorder;
use machinery::{Objects, Plane};

use crate::server::key;

/// Above the time that anything takes on a busy machine.
pub(crate) const DEADLINE: Duration = Duration::from_secs(60);

pub(crate) struct Harness {
    pub(crate) plane: Plane,
    pub(crate) underlay: Underlay,
    pub(crate) agents: Vec<Agent>,
    recorder: Recorder,
    pub(crate) attachments: Objects<NetworkAttachment>,
    pub(crate) subnets: Objects<Subnet>,
    pub(crate) checker: InvariantChecker,
}

pub(crate) fn host(node: u8) -> Ipv4Addr {
    Ipv4Addr::new(192, 0, 2, node)
}

impl Harness {
    pub(crate) async fn new(nodes: u8) -> Self {
        let mut harness = Self::without_agents().await;
        for node in 1..=nodes {
            harness.node(node);
        }
        harness
    }

    pub(crate) async fn without_agents() -> Self {
        Self::with(ControllerSettings::default()).await
    }

    pub(crate) async fn with(settings: ControllerSettings) -> Self {
        let start =
            machinery::embedded().kind_of(subnets()).kind_of(network_attachments()).kind_of(ip_locks());
        Self::on(start.start().await.unwrap(), settings, None)
    }

    /// On any server, in the plane or elsewhere.
    pub(crate) fn on(plane: Plane, settings: ControllerSettings, server: Option<&ApiServer>) -> Self {
        let recorder = plane.recorder("kos");
        controllers::run(&plane, settings).unwrap();
        let underlay = Underlay::new(SimLimits::default());
        let (attachments, subnets) = (plane.objects().unwrap(), plane.objects().unwrap());
        let server = server.or(plane.server()).unwrap();
        let (checker, watching) = InvariantChecker::on(server, plane.stopping().clone());
        plane.spawn(async move {
            watching.await;
            Ok(())
        });
        Self { plane, underlay, agents: Vec::new(), recorder, attachments, subnets, checker }
    }

    /// Adds a node with an agent.
    pub(crate) fn node(&mut self, number: u8) {
        let fabric = self.underlay.join(host(number)).unwrap();
        self.agent(number, fabric);
    }

    /// Asserts convergence without violations, and stops.
    pub(crate) async fn finish(self) {
        assert_converges(&self.checker).await;
        self.plane.stop().await;
    }

    pub(crate) fn agent(&mut self, node: u8, fabric: impl Fabric) {
        let mut settings = AgentSettings::new(&format!("node-{node}"), host(node));
        settings.reconcile_interval = Duration::from_millis(100);
        self.agent_with(settings, fabric);
    }

    /// Adds an agent, and its node to the invariant checker.
    pub(crate) fn agent_with(&mut self, settings: AgentSettings, fabric: impl Fabric) {
        let observed = self.underlay.join(settings.host).unwrap();
        self.checker.watch_node(&settings.node, settings.host, Arc::new(observed));
        self.unwatched(settings, fabric);
    }

    /// Adds a node to the invariant checker.
    pub(crate) fn watch(&self, node: u8) {
        let observed = self.underlay.join(host(node)).unwrap();
        self.checker.watch_node(&format!("node-{node}"), host(node), Arc::new(observed));
    }

    /// Adds an agent whose node has interfaces that violate the invariants at first.
    pub(crate) fn unwatched(&mut self, settings: AgentSettings, fabric: impl Fabric) {
        let agent = Agent::run(&self.plane, settings, Arc::new(fabric), &self.recorder).unwrap();
        self.agents.push(agent);
    }

    pub(crate) async fn subnet(&self, name: &str, vni: u32, ipv4: &str) {
        self.subnets.create(&Subnet::new("default", name, vni, ipv4)).await.unwrap();
    }

    pub(crate) async fn attach(&self, name: &str, node: &str, subnet: &str) {
        self.attachments.create(&NetworkAttachment::new("default", name, node, subnet)).await.unwrap();
    }

    pub(crate) fn get(&self, name: &str) -> Option<Arc<NetworkAttachment>> {
        self.attachments.get(&key("default", name))
    }

    /// Waits until a condition on an attachment holds.
    pub(crate) async fn until(&self, name: &str, condition: impl Fn(Option<&NetworkAttachment>) -> bool) {
        let holds = |_: &Objects<NetworkAttachment>| condition(self.get(name).as_deref()).then_some(());
        if self.attachments.until(DEADLINE, holds).await.is_err() {
            panic!("the condition never held for {name}: {:#?}", self.get(name));
        }
    }

    pub(crate) async fn until_ready(&self, name: &str) {
        self.until(name, |it| it.is_some_and(|it| !it.status.ifc_name.is_empty())).await;
    }

    pub(crate) fn ping(&self, from: &str, to: &str) -> Result<(), PingError> {
        let (from, to) = (self.get(from).unwrap(), self.get(to).unwrap());
        let vni = kos::model::Vni::new(from.status.address_vni).unwrap();
        let who = AddressKey { vni, address: from.status.ipv4.parse().unwrap() };
        let node = from.status.host_ip.parse().unwrap();
        self.underlay.ping(node, who, to.status.ipv4.parse().unwrap(), 1)
    }

    /// Polls a condition that has no event.
    pub(crate) async fn until_so(&self, condition: impl Fn() -> bool) {
        let so = async {
            while !condition() {
                tokio::time::sleep(Duration::from_millis(5)).await;
            }
        };
        tokio::time::timeout(DEADLINE, so).await.unwrap();
    }

    pub(crate) async fn until_pings(&self, from: &str, to: &str) {
        self.until_so(|| self.ping(from, to).is_ok()).await;
    }
}

/// Asserts convergence, and that no violation ever occurred.
pub(crate) async fn assert_converges(checker: &InvariantChecker) {
    let wrong = checker.wait_converged(DEADLINE).await;
    assert!(wrong.is_empty(), "no convergence: {wrong:#?}");
}

/// A fabric that delegates to another, counts calls, and can refuse them.
pub(crate) struct InstrumentedFabric<F> {
    pub(crate) of: F,
    pub(crate) calls: Arc<Calls>,
}

#[derive(Default)]
pub(crate) struct Calls {
    pub(crate) refuses: AtomicBool,
    pub(crate) made: AtomicUsize,
    pub(crate) deleted: AtomicUsize,
}

impl<F: Fabric> InstrumentedFabric<F> {
    fn called(&self, count: &AtomicUsize) -> Result<(), FabricError> {
        count.fetch_add(1, Ordering::SeqCst);
        match self.calls.refuses.load(Ordering::SeqCst) {
            true => Err(FabricError::Unavailable { reason: "it is asleep".into() }),
            false => Ok(()),
        }
    }
}

#[async_trait]
impl<F: Fabric> Fabric for InstrumentedFabric<F> {
    fn name(&self) -> &'static str {
        "watched"
    }

    async fn create_local(&self, interface: &LocalInterface) -> Result<(), FabricError> {
        self.called(&self.calls.made)?;
        self.of.create_local(interface).await
    }

    async fn delete_local(&self, interface: &LocalInterface) -> Result<(), FabricError> {
        self.called(&self.calls.deleted)?;
        self.of.delete_local(interface).await
    }

    async fn create_remote(&self, interface: &RemoteInterface) -> Result<(), FabricError> {
        self.called(&self.calls.made)?;
        self.of.create_remote(interface).await
    }

    async fn delete_remote(&self, interface: &RemoteInterface) -> Result<(), FabricError> {
        self.called(&self.calls.deleted)?;
        self.of.delete_remote(interface).await
    }

    async fn list(&self) -> Result<InterfaceList, FabricError> {
        self.of.list().await
    }

    async fn reconcile(&self) -> Result<FabricRepairs, FabricError> {
        self.of.reconcile().await
    }

    async fn disturbed(&self) {
        self.of.disturbed().await
    }

    async fn status(&self) -> FabricStatus {
        self.of.status().await
    }
}
