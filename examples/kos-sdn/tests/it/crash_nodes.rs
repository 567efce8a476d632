//! The nodes of crash tests: simulated, on a simulated Open vSwitch, and on a real one.

use std::future::pending;
use std::net::Ipv4Addr;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use async_trait::async_trait;
use kos::drive::ovs::fabric::fake::FakeOvs;
use kos::drive::ovs::fabric::{FabricLimits, OvsFabric, SwitchConnections, gated};
use kos::drive::ovs::ovsdb::{Committed, Database, DatabaseSnapshot, TransactError, Transaction};
use kos::drive::sim::SimFabric;
use kos::drive::{Fabric, FabricError, FabricRepairs, FabricStatus, InterfaceList};
use kos::plan::ovs::SwitchSettings;
use kos::plan::{LocalInterface, RemoteInterface};
use machinery::Plane;
use machinery::sync::Mutex;
use machinery::testing::CrashGate;
use tokio_util::sync::CancellationToken;

use crate::gated_fabric::Gated;
use crate::harness::host;

/// The switch of a node, which outlives its agents.
#[async_trait]
pub(crate) trait CrashNode: Send + Sync {
    /// Returns the fabric of an agent, whose effects pass a gate.
    fn fabric(&self, gate: &Arc<CrashGate>, plane: &Plane) -> Arc<dyn Fabric>;

    /// Returns a fabric for the invariant checker, which only lists.
    fn observed(&self) -> Arc<dyn Fabric>;

    /// Asserts that nothing is left.
    async fn assert_empty(&self);
}

#[async_trait]
impl CrashNode for SimFabric {
    fn fabric(&self, gate: &Arc<CrashGate>, _: &Plane) -> Arc<dyn Fabric> {
        Arc::new(Gated(self.clone(), gate.clone()))
    }

    fn observed(&self) -> Arc<dyn Fabric> {
        Arc::new(self.clone())
    }

    async fn assert_empty(&self) {
        assert_eq!(self.list().await.unwrap(), InterfaceList::default());
        assert_eq!(self.reconcile().await.unwrap(), FabricRepairs::default(), "flows were left");
    }
}

/// Connects to a switch, under the name of a lock.
pub(crate) trait ConnectSwitch: Send + Sync + 'static {
    /// Connects until cancelled.
    fn connect(&self, lock: &str, ended: CancellationToken) -> SwitchConnections;

    /// Returns what is left on the switch but for the bridge itself.
    fn leftovers(&self) -> Vec<String>;
}

/// A node whose switch is Open vSwitch.
pub(crate) struct OvsNode<S> {
    number: u8,
    switch: S,
    /// Of the running agent.
    killed: Mutex<CancellationToken>,
    /// Ends all connections: an open one would keep its lock from the next node on this switch.
    ended: CancellationToken,
}

impl<S> OvsNode<S> {
    pub(crate) fn new(number: u8, switch: S) -> Self {
        Self { number, switch, killed: Mutex::default(), ended: CancellationToken::new() }
    }
}

impl<S> Drop for OvsNode<S> {
    fn drop(&mut self) {
        self.ended.cancel();
    }
}

static OBSERVERS: AtomicUsize = AtomicUsize::new(0);

const LOCK: &str = "kos_agent_kos";

fn settings(number: u8) -> SwitchSettings {
    let mut settings = SwitchSettings::new(&format!("node-{number}"), host(number));
    settings.into_namespaces = true;
    settings
}

#[async_trait]
impl<S: ConnectSwitch> CrashNode for OvsNode<S> {
    fn fabric(&self, gate: &Arc<CrashGate>, plane: &Plane) -> Arc<dyn Fabric> {
        // A killed process has no connections.
        let killed = self.ended.child_token();
        std::mem::replace(&mut *self.killed.lock(), killed.clone()).cancel();
        let connections = gated(self.switch.connect(LOCK, killed.clone()), gate);
        let mut limits = FabricLimits::default();
        limits.backoff = (Duration::from_millis(1), Duration::from_millis(2));
        let (fabric, running) = OvsFabric::new(settings(self.number), limits, connections, killed);
        plane.spawn(async move {
            running.await;
            Ok(())
        });
        Arc::new(fabric)
    }

    fn observed(&self) -> Arc<dyn Fabric> {
        // Each observer has a lock of its own.
        let lock = format!("observer_{}", OBSERVERS.fetch_add(1, Ordering::Relaxed));
        Arc::new(ObservedFabric {
            settings: settings(self.number),
            connections: self.switch.connect(&lock, self.ended.child_token()),
        })
    }

    async fn assert_empty(&self) {
        assert_eq!(self.observed().list().await.unwrap(), InterfaceList::default());
        assert_eq!(self.switch.leftovers(), Vec::<String>::new());
    }
}

/// Lists the interfaces that are on a switch now, as a restarted agent would find them.
struct ObservedFabric {
    settings: SwitchSettings,
    connections: SwitchConnections,
}

#[async_trait]
impl Fabric for ObservedFabric {
    fn name(&self) -> &'static str {
        "observed"
    }

    async fn create_local(&self, _: &LocalInterface) -> Result<(), FabricError> {
        unreachable!()
    }

    async fn delete_local(&self, _: &LocalInterface) -> Result<(), FabricError> {
        unreachable!()
    }

    async fn create_remote(&self, _: &RemoteInterface) -> Result<(), FabricError> {
        unreachable!()
    }

    async fn delete_remote(&self, _: &RemoteInterface) -> Result<(), FabricError> {
        unreachable!()
    }

    async fn list(&self) -> Result<InterfaceList, FabricError> {
        let (settings, limits) = (self.settings.clone(), FabricLimits::default());
        let (fabric, running) =
            OvsFabric::new(settings, limits, self.connections.clone(), CancellationToken::new());
        tokio::select! {
            // Without a bridge there is no interface; the last check reads the rows.
            listed = fabric.list() => match listed {
                Err(FabricError::Unavailable { .. }) => Ok(InterfaceList::default()),
                listed => listed,
            },
            () = running => unreachable!(),
        }
    }

    async fn reconcile(&self) -> Result<FabricRepairs, FabricError> {
        unreachable!()
    }

    async fn status(&self) -> FabricStatus {
        FabricStatus::default()
    }
}

/// A simulated switch, and the connection of its agent.
struct SimulatedSwitch {
    ovs: FakeOvs,
    agent: Mutex<Option<Arc<AgentDatabase>>>,
}

/// The connection of an agent to the database: closed when the next one connects, as that of a
/// killed process is.
struct AgentDatabase(Mutex<Option<Arc<dyn Database>>>);

#[async_trait]
impl Database for AgentDatabase {
    fn snapshot(&self) -> Arc<DatabaseSnapshot> {
        let open = self.0.lock().clone();
        open.map(|database| database.snapshot()).unwrap_or_default()
    }

    async fn changed(&self, version: u64) -> Arc<DatabaseSnapshot> {
        let Some(database) = self.0.lock().clone() else { return pending().await };
        database.changed(version).await
    }

    async fn transact(&self, transaction: Transaction) -> Result<Committed, TransactError> {
        let Some(database) = self.0.lock().clone() else { return pending().await };
        database.transact(transaction).await
    }
}

impl ConnectSwitch for SimulatedSwitch {
    fn connect(&self, lock: &str, _: CancellationToken) -> SwitchConnections {
        let connections = self.ovs.connect(lock);
        if lock != LOCK {
            return connections;
        }
        let database = Arc::new(AgentDatabase(Mutex::new(Some(connections.database))));
        if let Some(killed) = self.agent.lock().replace(database.clone()) {
            killed.0.lock().take();
        }
        SwitchConnections { database, ..connections }
    }

    fn leftovers(&self) -> Vec<String> {
        let rows = self.ovs.database.rows();
        let bridge = rows.bridge("kos").unwrap();
        let ports = rows.ports_of(bridge).map(|port| port.name.clone());
        let ports = ports.filter(|name| name != "kos" && name != "kos-vtep");
        let flows = self.ovs.flows.flows().into_iter().skip(2).map(|flow| format!("{flow:?}"));
        ports.chain(flows).collect()
    }
}

/// Creates two nodes on simulated switches.
pub(crate) fn simulated_switches() -> [Arc<dyn CrashNode>; 2] {
    let of = |number| -> Arc<dyn CrashNode> {
        let address: Ipv4Addr = host(number);
        let (ovs, agent) = (FakeOvs::new("kos", address, 1500), Mutex::default());
        Arc::new(OvsNode::new(number, SimulatedSwitch { ovs, agent }))
    };
    [of(1), of(2)]
}
