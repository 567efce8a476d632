//! A fabric on a simulated switch.

use std::net::Ipv4Addr;
use std::sync::Arc;
use std::time::Duration;

use machinery::objects::ObjectKey;
use machinery::tokio;
use machinery::tokio_util::sync::CancellationToken;
use machinery::tokio_util::task::TaskTracker;

use crate::drive::FabricRepairs;
use crate::drive::ovs::fabric::fake::FakeOvs;
use crate::drive::ovs::fabric::{FabricLimits, OvsFabric, SwitchConnections};
use crate::drive::test_fabric::TestFabric;
use crate::model::Vni;
use crate::plan::ovs::SwitchSettings;
use crate::plan::{LocalInterface, RemoteInterface};

pub(super) const HOST: Ipv4Addr = Ipv4Addr::new(192, 0, 2, 1);
/// Above the time that anything takes on a busy machine.
pub(super) const DEADLINE: Duration = Duration::from_secs(60);

/// A fabric on a simulated switch.
pub(super) struct FabricBench {
    pub(super) ovs: FakeOvs,
    pub(super) fabric: TestFabric,
    tasks: TaskTracker,
    stopping: CancellationToken,
}

pub(super) fn settings() -> SwitchSettings {
    SwitchSettings { into_namespaces: true, ..SwitchSettings::new("node-1", HOST) }
}

pub(super) fn vni(number: u32) -> Vni {
    Vni::new(number).unwrap()
}

pub(super) fn local(low: u8) -> LocalInterface {
    let key = ObjectKey::new(Some("default"), &format!("a{low}")).unwrap();
    LocalInterface::new(vni(1), [10, 0, 0, low].into()).with_workload(key, Some(24))
}

pub(super) fn remote(low: u8) -> RemoteInterface {
    RemoteInterface::new(vni(1), [10, 0, 1, low].into(), [192, 0, 2, 9].into())
}

impl FabricBench {
    /// Starts a fabric on a new switch, with a bridge.
    pub(super) async fn new() -> Self {
        let bench = Self::on(FakeOvs::new("kos", HOST, 1500));
        bench.fabric.list().await.unwrap();
        bench.fabric.reconcile().await.unwrap();
        bench
    }

    /// Starts a fabric on a switch.
    pub(super) fn on(ovs: FakeOvs) -> Self {
        let connections = ovs.connect("kos");
        Self::with(ovs, connections)
    }

    pub(super) fn with(ovs: FakeOvs, connections: SwitchConnections) -> Self {
        let limits = FabricLimits { apply: Duration::from_secs(5), ..FabricLimits::default() };
        let (tasks, stopping) = (TaskTracker::new(), CancellationToken::new());
        let fabric = Arc::new(OvsFabric::new(settings(), limits, connections));
        Self { ovs, fabric: TestFabric::start(fabric, &tasks, &stopping), tasks, stopping }
    }

    /// Ends the fabric as a crash does: its switch stays.
    pub(super) async fn crash(self) -> FakeOvs {
        self.stopping.cancel();
        self.tasks.close();
        self.tasks.wait().await;
        self.ovs
    }

    /// Waits for repairs after some others, until none is left to do. Returns them.
    pub(super) async fn repaired(&self, before: FabricRepairs) -> FabricRepairs {
        let noticed = async {
            while self.fabric.repairs() == before {
                tokio::time::sleep(Duration::from_millis(1)).await;
            }
        };
        tokio::time::timeout(DEADLINE, noticed).await.expect("it is noticed");
        self.settled().await;
        self.fabric.repairs().minus(before)
    }

    /// Repairs until nothing is left to do.
    pub(super) async fn settled(&self) {
        for _ in 0..100 {
            if self.fabric.reconcile().await == Ok(FabricRepairs::default()) {
                return;
            }
            tokio::time::sleep(Duration::from_millis(20)).await;
        }
        panic!("the repairs do not end: {:?}", self.fabric.actuator.status());
    }

    /// Returns the names of the bridge's ports, the number of flows, and the namespaces.
    pub(super) async fn state(&self) -> (Vec<String>, usize, Vec<String>) {
        use crate::drive::ovs::links::Links as _;
        let rows = self.ovs.database.rows();
        let mut ports: Vec<_> = rows
            .bridge("kos")
            .map(|bridge| rows.ports_of(bridge).map(|port| port.name.clone()).collect())
            .unwrap_or_default();
        ports.sort();
        let namespaces = self.ovs.links.list().await.unwrap().namespaces;
        let names = namespaces.iter().map(|entry| entry.name.to_string()).collect();
        (ports, self.ovs.flows.flows().len(), names)
    }
}
