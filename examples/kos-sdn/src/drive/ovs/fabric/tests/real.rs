//! The fabric on a real Open vSwitch.

use std::sync::Arc;
use std::time::Duration;

use machinery::objects::ObjectKey;
use machinery::tokio;
use machinery::tokio::time::{Instant, sleep};
use machinery::tokio_util::sync::CancellationToken;
use machinery::tokio_util::task::TaskTracker;

use super::bench::{DEADLINE, vni};
use super::real_switch::{RealHost, RealHosts, is_available, output};
use crate::drive::ovs::fabric::{OvsFabric, OvsSettings};
use crate::drive::test_fabric::TestFabric;
use crate::drive::{FabricError, FabricRepairs, FramePath, InterfaceList};
use crate::plan::ovs::SwitchSettings;
use crate::plan::{AddressKey, LocalInterface, RemoteInterface};

/// A fabric on each of two hosts.
pub(super) struct RealBench {
    hosts: RealHosts,
    pub(super) fabrics: Vec<TestFabric>,
    tasks: TaskTracker,
    stopping: CancellationToken,
}

fn key(network: u32, low: u8) -> AddressKey {
    AddressKey { vni: vni(network), address: [10, 0, 0, low].into() }
}

fn remote(network: u32, low: u8, host: u8) -> RemoteInterface {
    RemoteInterface::new(vni(network), [10, 0, 0, low].into(), [192, 0, 2, host].into())
}

impl RealBench {
    pub(super) async fn start() -> Self {
        let mut bench = Self {
            hosts: RealHosts::start(),
            fabrics: Vec::new(),
            tasks: TaskTracker::new(),
            stopping: CancellationToken::new(),
        };
        bench.start_fabrics().await;
        bench
    }

    async fn start_fabrics(&mut self) {
        self.stopping = CancellationToken::new();
        self.fabrics.clear();
        for (host, low) in self.hosts.hosts.iter().zip(1..) {
            let mut settings = SwitchSettings::new(&format!("node-{low}"), [192, 0, 2, low].into());
            settings.into_namespaces = true;
            let fabric = Arc::new(OvsFabric::start(OvsSettings::new(settings, &host.run)).unwrap());
            let fabric = TestFabric::start(fabric, &self.tasks, &self.stopping);
            until_ok(|| fabric.list()).await;
            until_ok(|| fabric.reconcile()).await;
            self.fabrics.push(fabric);
        }
    }

    pub(super) async fn stop_fabrics(&self) {
        self.stopping.cancel();
        self.tasks.close();
        self.tasks.wait().await;
        self.tasks.reopen();
    }

    /// Returns a workload; its namespace is unique on this machine.
    pub(super) fn local(&self, network: u32, low: u8) -> LocalInterface {
        let key = ObjectKey::new(Some(&self.host(0).namespace), &format!("w{network}-{low}"));
        LocalInterface::new(vni(network), [10, 0, 0, low].into()).with_workload(key.unwrap(), Some(24))
    }

    pub(super) fn host(&self, index: usize) -> &RealHost {
        &self.hosts.hosts[index]
    }

    /// Two workloads on different hosts of one network.
    pub(super) async fn pair(&self) {
        for (index, (here, there)) in [(2, 3), (3, 2)].into_iter().enumerate() {
            let other_host = 2 - u8::try_from(index).unwrap();
            self.fabrics[index].create_local(&self.local(1, here)).await.unwrap();
            self.fabrics[index].create_remote(&remote(1, there, other_host)).await.unwrap();
        }
    }

    pub(super) async fn until_pings(&self) {
        until_ok(|| self.fabrics[0].ping(key(1, 2), [10, 0, 0, 3].into(), 1)).await;
        until_ok(|| self.fabrics[1].ping(key(1, 3), [10, 0, 0, 2].into(), 1)).await;
    }
}

async fn until_ok<T, F>(mut attempt: impl FnMut() -> F) -> T
where
    F: Future<Output = Result<T, FabricError>>,
{
    let until = Instant::now() + DEADLINE;
    loop {
        match attempt().await {
            Ok(result) => return result,
            Err(error) => assert!(Instant::now() < until, "{error}"),
        }
        sleep(Duration::from_millis(20)).await;
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2, crate = "machinery::tokio")]
async fn workloads_on_two_real_switches_ping_each_other() {
    if !is_available("workloads_on_two_real_switches_ping_each_other") {
        return;
    }
    let mut bench = RealBench::start().await;
    bench.pair().await;
    bench.until_pings().await;
    let path = FramePath { from: key(1, 2), to: [10, 0, 0, 3].into(), host: None };
    let lines = bench.fabrics[0].explain(path).await.unwrap();
    assert!(lines.iter().any(|line| line.contains("w1-2)")), "{lines:#?}");
    assert!(lines.last().unwrap().starts_with("  forwarded"), "{lines:#?}");
    let path = FramePath { to: [10, 0, 0, 9].into(), ..path };
    let lines = bench.fabrics[0].explain(path).await.unwrap();
    assert_eq!(lines.last().unwrap(), "  dropped in table 1");

    let before = bench.fabrics[0].list().await.unwrap();
    bench.stop_fabrics().await;
    bench.start_fabrics().await;
    assert_eq!(bench.fabrics[0].list().await.unwrap(), before);
    assert_eq!(bench.fabrics[0].reconcile().await, Ok(FabricRepairs::default()));
    bench.until_pings().await;

    bench.fabrics[0].delete_local(&bench.local(1, 2)).await.unwrap();
    bench.fabrics[0].delete_remote(&remote(1, 3, 2)).await.unwrap();
    assert_eq!(bench.fabrics[0].list().await, Ok(InterfaceList::default()));
    assert_eq!(
        bench.host(0).ofctl("dump-flows", &[]).lines().filter(|line| line.contains("cookie")).count(),
        2
    );
    assert_eq!(bench.host(0).vsctl(&["list-ports", "kos"]), "kos-vtep\n");
    assert!(!output("ip", &["netns", "list"]).contains(&format!("{}.w1-2\n", bench.host(0).namespace)));
    bench.fabrics[1].delete_local(&bench.local(1, 3)).await.unwrap();
    bench.stop_fabrics().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2, crate = "machinery::tokio")]
async fn a_real_switch_passes_the_conformance_tests() {
    if !is_available("a_real_switch_passes_the_conformance_tests") {
        return;
    }
    let bench = RealBench::start().await;
    crate::drive::promises::passes(bench.fabrics[0].clone()).await;
    bench.stop_fabrics().await;
}
