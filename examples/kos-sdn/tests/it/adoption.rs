//! The start of an agent, piece by piece, and repairs without a timer.

use std::net::Ipv4Addr;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering::SeqCst};
use std::time::Duration;

use async_trait::async_trait;
use http::{Request, Response};
use kos::agent::{Agent, AgentSettings};
use kos::controllers::ControllerSettings;
use kos::drive::sim::SimFabric;
use kos::drive::{BrokenInterface, Fabric, FabricError, FabricRepairs, FabricStatus, InterfaceList};
use kos::model::Vni;
use kos::plan::{Interface, LocalInterface, RemoteInterface};
use machinery::Plane;
use machinery::apiserver::{ApiServer, Identity};
use machinery::controllers::{Disturbance, Progress};
use machinery::kube::kube_client::Client;
use machinery::kube::kube_client::client::Body;
use machinery::sync::Mutex;
use tokio::sync::Notify;
use tower::{ServiceExt as _, service_fn};

use crate::harness::{Harness, host};
use crate::server::{foreign_server, key, plane_on};

/// A simulated fabric with faults, as of a switch that others change.
#[derive(Clone)]
struct FaultFabric {
    of: SimFabric,
    faults: Arc<Faults>,
}

#[derive(Default)]
struct Faults {
    /// Deletions of local interfaces fail, and those of remote interfaces do not return.
    keeps: AtomicBool,
    disturbance: Notify,
    broken: Mutex<Vec<BrokenInterface>>,
}

impl FaultFabric {
    fn new(of: SimFabric) -> Self {
        Self { of, faults: Arc::default() }
    }

    fn set_broken(&self, broken: Vec<BrokenInterface>) {
        *self.faults.broken.lock() = broken;
        self.faults.disturbance.notify_one();
    }
}

#[async_trait]
impl Fabric for FaultFabric {
    fn name(&self) -> &'static str {
        "faults"
    }

    async fn create_local(&self, interface: &LocalInterface) -> Result<(), FabricError> {
        let is_it = |one: &&BrokenInterface| one.interface == Interface::Local(interface.clone());
        let error = self.faults.broken.lock().iter().find(is_it).map(|one| one.error.clone());
        if let Some(error) = error {
            return Err(error);
        }
        self.of.create_local(interface).await
    }

    async fn delete_local(&self, interface: &LocalInterface) -> Result<(), FabricError> {
        if self.faults.keeps.load(SeqCst) {
            return Err(FabricError::Refused { what: "the deletion".into(), reason: "it is busy".into() });
        }
        self.of.delete_local(interface).await
    }

    async fn create_remote(&self, interface: &RemoteInterface) -> Result<(), FabricError> {
        self.of.create_remote(interface).await
    }

    async fn delete_remote(&self, interface: &RemoteInterface) -> Result<(), FabricError> {
        while self.faults.keeps.load(SeqCst) {
            tokio::time::sleep(Duration::from_millis(20)).await;
        }
        self.of.delete_remote(interface).await
    }

    async fn list(&self) -> Result<InterfaceList, FabricError> {
        self.of.list().await
    }

    async fn repair(&self, progress: &Progress) -> Result<FabricRepairs, FabricError> {
        self.of.repair(progress).await
    }

    async fn disturbed(&self) -> Disturbance {
        self.faults.disturbance.notified().await;
        Disturbance::Restarted
    }

    async fn status(&self) -> FabricStatus {
        let broken = self.faults.broken.lock().clone();
        FabricStatus { broken, ..self.of.status().await }
    }
}

fn vni(number: u32) -> Vni {
    Vni::new(number).unwrap()
}

/// Settings whose timer does not elapse within a test.
fn without_timer(node: u8) -> AgentSettings {
    let mut settings = AgentSettings::new(&format!("node-{node}"), host(node));
    settings.reconcile_interval = Duration::from_secs(3600);
    settings
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn orphan_that_cannot_be_deleted_delays_nothing() {
    let mut harness = Harness::new(1).await;
    harness.subnet("s", 17, "10.1.0.0/24").await;
    harness.attach("a", "node-1", "s").await;
    harness.attach("b", "node-2", "s").await;
    harness.until_ready("a").await;
    let fabric = FaultFabric::new(harness.underlay.join(host(2)).unwrap());
    let [low, high] = [[10, 9, 0, 2], [10, 9, 0, 3]].map(Ipv4Addr::from);
    fabric.create_local(&LocalInterface::new(vni(99), low)).await.unwrap();
    fabric.create_remote(&RemoteInterface::new(vni(99), high, host(1))).await.unwrap();
    fabric.faults.keeps.store(true, SeqCst);
    harness.unwatched(without_timer(2), fabric.clone());
    harness.until_ready("b").await;
    harness.until_pings("a", "b").await;
    harness.until_pings("b", "a").await;
    let agent = harness.agents[1].clone();
    assert_eq!(agent.unclaimed(), 2);
    harness.until_so(|| agent.is_ready()).await;
    fabric.faults.keeps.store(false, SeqCst);
    harness.until_so(|| agent.unclaimed() == 0).await;
    let listed = fabric.list().await.unwrap();
    assert_eq!((listed.locals.len(), listed.remotes.len()), (1, 1), "{listed:?}");
    harness.watch(2);
    harness.finish().await;
}

/// An orphan has the address that an attachment of the node got meanwhile.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn orphan_that_blocks_an_address_is_reported_there() {
    let mut harness = Harness::without_agents().await;
    harness.subnet("s", 17, "10.1.0.0/24").await;
    harness.attach("a", "node-1", "s").await;
    harness.until("a", |it| it.is_some_and(|it| !it.status.ipv4.is_empty())).await;
    let address = harness.get("a").unwrap().status.ipv4.parse().unwrap();
    let fabric = FaultFabric::new(harness.underlay.join(host(1)).unwrap());
    // Of another attachment, which had the address before.
    let former = LocalInterface::new(vni(17), address).with_workload(key("default", "former"), Some(24));
    fabric.create_local(&former).await.unwrap();
    fabric.faults.keeps.store(true, SeqCst);
    harness.unwatched(without_timer(1), fabric.clone());
    let busy = "the deletion was refused: it is busy";
    harness.until("a", |it| it.is_some_and(|it| it.status.errors.host == [busy])).await;
    fabric.faults.keeps.store(false, SeqCst);
    harness.until_ready("a").await;
    harness.watch(1);
    harness.finish().await;
}

/// A plane on a server that refuses to list the peers of network 18.
async fn plane_without_network_18(server: &ApiServer, refuses: &Arc<AtomicBool>) -> Plane {
    let (service, refuses) = (server.service(Identity::admin()), refuses.clone());
    let refusing = service_fn(move |request: Request<Body>| {
        let (sent, refuses) = (service.clone(), refuses.clone());
        async move {
            let query = request.uri().query().unwrap_or_default();
            if query.contains("addressVNI%3D18") && refuses.load(SeqCst) {
                let status = r#"{"kind": "Status", "apiVersion": "v1", "status": "Failure", "code": 500}"#;
                let refusal = Response::builder().status(500).header("content-type", "application/json");
                return Ok(refusal.body(http_body_util::Either::Left(status.to_owned())).unwrap());
            }
            let answered = sent.oneshot(request).await;
            answered.map(|response| response.map(http_body_util::Either::Right))
        }
    });
    machinery::kube_client(Client::new(refusing, "default")).start().await.unwrap()
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn network_that_cannot_be_watched_delays_nothing() {
    let server = foreign_server().await;
    let mut harness = Harness::on(plane_on(&server).await, ControllerSettings::default(), Some(&server));
    harness.node(1);
    for (subnet, vni) in [("s", 17), ("t", 18)] {
        harness.subnet(subnet, vni, "10.1.0.0/24").await;
        for (name, node) in [("one", "node-1"), ("two", "node-2")] {
            harness.attach(&format!("{subnet}-{name}"), node, subnet).await;
        }
    }
    for name in ["s-one", "t-one"] {
        harness.until_ready(name).await;
    }
    // Left by an earlier agent, and correct.
    let fabric = FaultFabric::new(harness.underlay.join(host(2)).unwrap());
    let peer = harness.get("t-one").unwrap().status.ipv4.parse().unwrap();
    let peer = RemoteInterface::new(vni(18), peer, host(1));
    fabric.create_remote(&peer).await.unwrap();
    let refuses = Arc::new(AtomicBool::new(true));
    let plane = plane_without_network_18(&server, &refuses).await;
    let mut settings = without_timer(2);
    (settings.per_key, settings.peers_timeout) = (true, Duration::from_millis(500));
    let agent = Agent::run(&plane, settings, Arc::new(fabric.clone()), &plane.recorder("kos")).unwrap();
    for name in ["s-two", "t-two"] {
        harness.until_ready(name).await;
    }
    harness.until_pings("s-one", "s-two").await;
    harness.until_pings("t-one", "t-two").await;
    let reported = |errors: &[String]| matches!(errors, [error] if error.starts_with("the peers of network 18 are not known yet"));
    harness.until("t-two", |it| it.is_some_and(|it| reported(&it.status.errors.host))).await;
    assert!(harness.get("s-two").unwrap().status.errors.host.is_empty());
    assert!(!agent.is_ready() && fabric.list().await.unwrap().remotes.contains(&peer));
    refuses.store(false, SeqCst);
    harness.until("t-two", |it| it.is_some_and(|it| it.status.errors.host.is_empty())).await;
    harness.until_so(|| agent.is_ready() && agent.unclaimed() == 0).await;
    harness.watch(2);
    harness.finish().await;
    plane.stop().await;
    server.stop().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn disturbance_is_repaired_without_the_timer() {
    let mut harness = Harness::new(1).await;
    let fabric = FaultFabric::new(harness.underlay.join(host(2)).unwrap());
    harness.agent_with(without_timer(2), fabric.clone());
    harness.subnet("s", 17, "10.1.0.0/24").await;
    harness.attach("a", "node-1", "s").await;
    harness.attach("b", "node-2", "s").await;
    harness.until_ready("a").await;
    harness.until_ready("b").await;
    harness.until_pings("a", "b").await;
    harness.underlay.restart_switch(host(2)).unwrap();
    fabric.faults.disturbance.notify_one();
    harness.until_so(|| harness.agents[1].repaired() > 0).await;
    harness.until_pings("a", "b").await;
    harness.finish().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn broken_interface_is_reported_until_it_is_repaired() {
    let mut harness = Harness::without_agents().await;
    let fabric = FaultFabric::new(harness.underlay.join(host(1)).unwrap());
    harness.agent_with(without_timer(1), fabric.clone());
    harness.subnet("s", 17, "10.1.0.0/24").await;
    for name in ["a", "b"] {
        harness.attach(name, "node-1", "s").await;
        harness.until_ready(name).await;
    }
    let interface = harness.agents[0].interfaces()[&key("default", "a")].clone();
    assert!(matches!(interface, Interface::Local(_)));
    let error = FabricError::Refused { what: "the port".into(), reason: "could not open".into() };
    fabric.set_broken(vec![BrokenInterface { interface, error }]);
    let text = "the port was refused: could not open";
    harness.until("a", |it| it.is_some_and(|it| it.status.errors.host == [text])).await;
    assert!(harness.get("b").unwrap().status.errors.host.is_empty());
    fabric.set_broken(Vec::new());
    harness.until("a", |it| it.is_some_and(|it| it.status.errors.host.is_empty())).await;
    harness.finish().await;
}
