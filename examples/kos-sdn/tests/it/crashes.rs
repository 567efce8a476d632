//! Crash tests: a component is stopped before and after each of its effects and restarted; the
//! final state is the same and nothing is left over.

use std::sync::Arc;
use std::time::Duration;

use kos::agent::{Agent, AgentSettings};
use kos::checker::InvariantChecker;
use kos::controllers::{self, ControllerSettings};
use kos::drive::sim::{SimLimits, Underlay};
use kos::model::{IPLock, NetworkAttachment, Subnet};
use machinery::Plane;
use machinery::apiserver::Identity;
use machinery::kube::kube_client::Client;
use machinery::objects::{Deletion, ListRequest, ListWatch as _, Writer as _};
use machinery::testing::{CrashGate, CrashPoints};
use tokio_util::sync::CancellationToken;
use tokio_util::task::TaskTracker;

use crate::crash_nodes::{CrashNode, simulated_switches};
use crate::harness::{DEADLINE, assert_converges, host};
use crate::server::{ServerFixture, create_namespace, foreign_server, key};

/// The component that crashes.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) enum Component {
    Controllers,
    Agent,
}

/// A server, the components on it, and the crash gate of one of them.
struct CrashHarness {
    fixture: ServerFixture,
    checker: InvariantChecker,
    tasks: TaskTracker,
    stopping: CancellationToken,
    nodes: CrashNodes,
    namespace: String,
    others: Vec<Plane>,
    crashes: Component,
    gate: Arc<CrashGate>,
    running: Plane,
}

/// Two nodes.
pub(crate) type CrashNodes = [Arc<dyn CrashNode>; 2];

/// A plane over the wire whose writes pass a gate.
async fn plane(fixture: &ServerFixture, gate: &Arc<CrashGate>) -> Plane {
    let client = Client::new(fixture.server.service(Identity::admin()), "n");
    machinery::kube_client(client).crash_gate(gate).start().await.unwrap()
}

async fn runs(fixture: &ServerFixture, what: Component, gate: &Arc<CrashGate>, nodes: &CrashNodes) -> Plane {
    let plane = plane(fixture, gate).await;
    match what {
        Component::Controllers => drop(controllers::run(&plane, ControllerSettings::default()).unwrap()),
        Component::Agent => agent(&plane, 1, &*nodes[0], gate),
    }
    plane
}

fn agent(plane: &Plane, number: u8, node: &dyn CrashNode, gate: &Arc<CrashGate>) {
    let settings = AgentSettings::new(&format!("node-{number}"), host(number));
    let fabric = node.fabric(gate, plane);
    Agent::run(plane, settings, fabric, &plane.recorder("kos")).unwrap();
}

fn simulated_nodes() -> CrashNodes {
    let underlay = Underlay::new(SimLimits::default());
    [1, 2].map(|number| -> Arc<dyn CrashNode> { Arc::new(underlay.join(host(number)).unwrap()) })
}

impl CrashHarness {
    async fn new(
        fixture: ServerFixture,
        nodes: CrashNodes,
        crashes: Component,
        gate: Arc<CrashGate>,
    ) -> Self {
        let (tasks, stopping) = (TaskTracker::new(), CancellationToken::new());
        let (checker, audits) = InvariantChecker::on(&fixture.server, stopping.clone());
        tasks.spawn(audits);
        for (number, node) in (1..).zip(&nodes) {
            checker.watch_node(&format!("node-{number}"), host(number), node.observed());
        }
        let free = CrashGate::open();
        let other = match crashes {
            Component::Controllers => Component::Agent,
            Component::Agent => Component::Controllers,
        };
        let second = plane(&fixture, &free).await;
        agent(&second, 2, &*nodes[1], &free);
        let others = vec![second, runs(&fixture, other, &free, &nodes).await];
        let running = runs(&fixture, crashes, &gate, &nodes).await;
        let namespace = "n".to_owned();
        Self { fixture, checker, tasks, stopping, nodes, namespace, others, crashes, gate, running }
    }

    /// Waits for the expected state, restarting a crashed component, and for convergence.
    async fn wait_for_state(&mut self, expected: &str) {
        let so = async {
            loop {
                if self.gate.has_crashed() {
                    self.running.kill().await;
                    self.gate = CrashGate::open();
                    self.running = runs(&self.fixture, self.crashes, &self.gate, &self.nodes).await;
                }
                if state(&self.fixture).await == expected
                    && self.checker.not_converged().await.unwrap().is_empty()
                    && !self.gate.has_crashed()
                {
                    return;
                }
                tokio::time::sleep(Duration::from_millis(1)).await;
            }
        };
        if tokio::time::timeout(DEADLINE, so).await.is_err() {
            let wrong = self.checker.not_converged().await.unwrap();
            panic!("the state is {}, not {expected}: {wrong:#?}", state(&self.fixture).await);
        }
    }

    async fn subnet(&self, name: &str, vni: u32, block: &str) {
        self.fixture.subnets.create(&Subnet::new(&self.namespace, name, vni, block), None).await.unwrap();
    }

    async fn attach(&self, name: &str, node: &str) {
        self.fixture
            .attachments
            .create(&NetworkAttachment::new(&self.namespace, name, node, "s"), None)
            .await
            .unwrap();
    }

    async fn detach(&self, name: &str) {
        self.fixture.attachments.delete(&key(&self.namespace, name), &Deletion::default()).await.unwrap();
    }

    async fn remove_subnet(&self, name: &str) {
        self.fixture.subnets.delete(&key(&self.namespace, name), &Deletion::default()).await.unwrap();
    }

    /// Checks that nothing is left.
    async fn finish(mut self) -> machinery::Result {
        self.wait_for_state("").await;
        assert_converges(&self.checker).await;
        for node in &self.nodes {
            node.assert_empty().await;
        }
        let locks = self.fixture.locks.list(ListRequest::default()).await.unwrap().items;
        assert!(locks.is_empty(), "{locks:?}");
        for plane in self.others.iter().chain([&self.running]) {
            plane.stop().await;
        }
        self.stopping.cancel();
        self.tasks.close();
        self.tasks.wait().await;
        self.fixture.server.stop().await;
        Ok(())
    }
}

/// Returns the state of the server as text.
async fn state(fixture: &ServerFixture) -> String {
    let subnets = fixture.subnets.list(ListRequest::default()).await.unwrap().items;
    let attachments = fixture.attachments.list(ListRequest::default()).await.unwrap().items;
    let locks = fixture.locks.list(ListRequest::default()).await.unwrap().items;
    let subnets = subnets.iter().map(|it: &Arc<Subnet>| {
        format!(
            "{} {}",
            it.metadata.name.clone().unwrap(),
            if it.status.validated { "counts" } else { "waits" }
        )
    });
    let attachments = attachments.iter().map(|it: &Arc<NetworkAttachment>| {
        let lock = locks
            .iter()
            .filter(|lock: &&Arc<IPLock>| lock.metadata.uid.as_deref() == Some(&*it.status.lock_uid));
        let status = &it.status;
        format!(
            "{} {} {}{}{}",
            it.metadata.name.clone().unwrap(),
            if status.ipv4.is_empty() { "waits" } else { "has" },
            if status.ifc_name.is_empty() { "nothing".into() } else { format!("in {}", status.address_vni) },
            if lock.count() == 1 { " locked" } else { "" },
            status.errors.ipam.concat()
        )
    });
    subnets.chain(attachments).collect::<Vec<_>>().join("; ")
}

const FULL: &str = "Referenced subnet has run out of IPs";

/// Three attachments for two addresses, a recreated subnet in another network, and deletion of
/// everything.
pub(crate) async fn scenario(
    nodes: CrashNodes,
    crashes: Component,
    gate: Arc<CrashGate>,
) -> machinery::Result {
    scenario_in("n", nodes, crashes, gate).await
}

/// The scenario in a namespace, whose name is part of the names of network namespaces.
pub(crate) async fn scenario_in(
    namespace: &str,
    nodes: CrashNodes,
    crashes: Component,
    gate: Arc<CrashGate>,
) -> machinery::Result {
    let fixture = ServerFixture::new().await;
    create_namespace(&fixture.server, namespace).await;
    let mut scenario = CrashHarness::new(fixture, nodes, crashes, gate).await;
    scenario.namespace = namespace.into();
    scenario.subnet("s", 17, "10.1.0.0/31").await;
    scenario.wait_for_state("s counts").await;
    scenario.attach("a", "node-1").await;
    scenario.wait_for_state("s counts; a has in 17 locked").await;
    scenario.attach("b", "node-2").await;
    scenario.wait_for_state("s counts; a has in 17 locked; b has in 17 locked").await;
    scenario.attach("c", "node-1").await;
    scenario
        .wait_for_state(&format!("s counts; a has in 17 locked; b has in 17 locked; c waits nothing{FULL}"))
        .await;
    scenario.detach("b").await;
    scenario.wait_for_state("s counts; a has in 17 locked; c has in 17 locked").await;
    scenario.remove_subnet("s").await;
    let missing = "Subnet s does not exist";
    scenario.wait_for_state(&format!("a waits nothing{missing}; c waits nothing{missing}")).await;
    scenario.subnet("s", 18, "10.2.0.0/24").await;
    scenario.attach("b", "node-2").await;
    scenario.wait_for_state("s counts; a has in 18 locked; b has in 18 locked; c has in 18 locked").await;
    for name in ["a", "b", "c"] {
        scenario.detach(name).await;
    }
    scenario.wait_for_state("s counts").await;
    scenario.remove_subnet("s").await;
    scenario.finish().await
}

/// Two conflicting subnets without the guard: the second is validated after deletion of the first;
/// the first, recreated, comes too late.
async fn conflict(crashes: Component, gate: Arc<CrashGate>) -> machinery::Result {
    let mut scenario =
        CrashHarness::new(ServerFixture::of(foreign_server().await).await, simulated_nodes(), crashes, gate)
            .await;
    scenario.subnet("r", 17, "10.1.0.0/24").await;
    scenario.wait_for_state("r counts").await;
    scenario.subnet("s", 17, "10.1.0.0/25").await;
    scenario.attach("a", "node-1").await;
    let failed = "Subnet s has not passed validation";
    scenario.wait_for_state(&format!("r counts; s waits; a waits nothing{failed}")).await;
    scenario.remove_subnet("r").await;
    scenario.wait_for_state("s counts; a has in 17 locked").await;
    scenario.subnet("r", 17, "10.1.0.0/24").await;
    scenario.wait_for_state("r waits; s counts; a has in 17 locked").await;
    scenario.detach("a").await;
    scenario.wait_for_state("r waits; s counts").await;
    scenario.remove_subnet("s").await;
    scenario.wait_for_state("r counts").await;
    scenario.remove_subnet("r").await;
    scenario.finish().await
}

async fn at_each_effect(scenario: impl AsyncFn(Arc<CrashGate>) -> machinery::Result, at_least: usize) {
    let report = CrashPoints::all().run(scenario).await.unwrap();
    assert!(report.effects.len() >= at_least && report.crashes >= 2 * at_least, "too few: {report:?}");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn controllers_crashing_at_any_effect_converge_to_the_same_state() {
    at_each_effect(async |gate| scenario(simulated_nodes(), Component::Controllers, gate).await, 12).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn agent_crashing_at_any_effect_converges_to_the_same_state() {
    at_each_effect(async |gate| scenario(simulated_nodes(), Component::Agent, gate).await, 12).await;
}

/// An effect is a transaction, a bundle or a change of a link.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn agent_crashing_at_any_effect_on_a_simulated_open_vswitch_converges_to_the_same_state() {
    at_each_effect(async |gate| scenario(simulated_switches(), Component::Agent, gate).await, 40).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn validators_crashing_at_any_effect_agree() {
    at_each_effect(async |gate| conflict(Component::Controllers, gate).await, 7).await;
}
