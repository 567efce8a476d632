//! Conformance tests of fabrics: every implementation passes the same tests.

use std::sync::Arc;

use machinery::tokio;
use tokio_util::sync::CancellationToken;
use tokio_util::task::TaskTracker;

use super::ovs::fabric::fake::FakeOvs;
use super::ovs::fabric::{FabricLimits, OvsFabric};
use super::sim::{SimLimits, Underlay};
use super::test_fabric::TestFabric;
use super::{Fabric, FabricError, FabricRepairs, FabricStatus, InterfaceList, LogFabric};
use crate::model::Vni;
use crate::plan::ovs::SwitchSettings;
use crate::plan::{LocalInterface, RemoteInterface};

fn local(vni: u32, low: u8) -> LocalInterface {
    LocalInterface::new(Vni::new(vni).unwrap(), [10, 0, 0, low].into())
}

fn remote(vni: u32, low: u8, host: u8) -> RemoteInterface {
    RemoteInterface::new(Vni::new(vni).unwrap(), [10, 0, 0, low].into(), [192, 0, 2, host].into())
}

fn fabrics(tasks: &TaskTracker, stopping: &CancellationToken) -> [TestFabric; 3] {
    let underlay = Underlay::new(SimLimits::default());
    let host = [192, 0, 2, 1].into();
    let simulated = FakeOvs::new("kos", host, 1500);
    let settings = SwitchSettings::new("node-1", host);
    let ovs = OvsFabric::new(settings, FabricLimits::default(), simulated.connect("kos"));
    let fabrics: [Arc<dyn Fabric>; 3] =
        [Arc::new(LogFabric::new()), Arc::new(underlay.join(host).unwrap()), Arc::new(ovs)];
    fabrics.map(|fabric| TestFabric::start(fabric, tasks, stopping))
}

#[tokio::test]
async fn every_fabric_passes_the_conformance_tests() {
    let (tasks, stopping) = (TaskTracker::new(), CancellationToken::new());
    for fabric in fabrics(&tasks, &stopping) {
        passes(fabric).await;
    }
    stopping.cancel();
    tasks.close();
    tasks.wait().await;
}

/// Tests a fabric without interfaces.
pub(in crate::drive) async fn passes(fabric: TestFabric) {
    assert_eq!(fabric.list().await, Ok(InterfaceList::default()));
    // Creates a bridge, if the fabric has one.
    fabric.reconcile().await.unwrap();
    address_has_one_interface(&fabric).await;
    deletion_of_a_missing_interface_succeeds(&fabric).await;
    one_of_concurrent_creations_succeeds(fabric.clone()).await;
    assert_eq!(fabric.reconcile().await, Ok(FabricRepairs::default()), "{}", fabric.name());
    assert_eq!(fabric.list().await, Ok(InterfaceList::default()));
}

/// The original's logging fabric created any number of interfaces per address.
async fn address_has_one_interface(fabric: &TestFabric) {
    let is_taken = |found: Result<(), FabricError>| {
        assert!(matches!(found, Err(FabricError::Taken { .. })), "{found:?}")
    };
    fabric.create_local(&local(1, 2)).await.unwrap();
    is_taken(fabric.create_local(&local(1, 2)).await);
    is_taken(fabric.create_remote(&remote(1, 2, 9)).await);
    fabric.create_remote(&remote(2, 2, 9)).await.unwrap();
    is_taken(fabric.create_remote(&remote(2, 2, 9)).await);
    is_taken(fabric.create_remote(&remote(2, 2, 8)).await);
    is_taken(fabric.create_local(&local(2, 2)).await);
    let listed = InterfaceList {
        locals: vec![local(1, 2)],
        remotes: vec![remote(2, 2, 9)],
        ..InterfaceList::default()
    };
    assert_eq!(fabric.list().await, Ok(listed));
    let FabricStatus { is_reachable, ports, broken, .. } = fabric.status().await;
    assert_eq!((is_reachable, ports, broken.len()), (true, 1, 0));
    fabric.delete_local(&local(1, 2)).await.unwrap();
    fabric.create_remote(&remote(1, 2, 9)).await.unwrap();
    fabric.delete_remote(&remote(1, 2, 9)).await.unwrap();
    fabric.delete_remote(&remote(2, 2, 9)).await.unwrap();
}

/// The original could never delete a port that no longer existed.
async fn deletion_of_a_missing_interface_succeeds(fabric: &TestFabric) {
    fabric.delete_local(&local(1, 2)).await.unwrap();
    fabric.delete_remote(&remote(1, 2, 9)).await.unwrap();
    fabric.create_remote(&remote(1, 2, 9)).await.unwrap();
    fabric.delete_remote(&remote(1, 2, 8)).await.unwrap();
    fabric.delete_local(&local(1, 2)).await.unwrap();
    assert_eq!(fabric.list().await.unwrap().remotes, [remote(1, 2, 9)], "another interface stays");
    fabric.delete_remote(&remote(1, 2, 9)).await.unwrap();
}

async fn one_of_concurrent_creations_succeeds(fabric: TestFabric) {
    let tasks = TaskTracker::new();
    let here = tasks.spawn({
        let fabric = fabric.clone();
        async move { fabric.create_local(&local(1, 2)).await }
    });
    let there = tasks.spawn({
        let fabric = fabric.clone();
        async move { fabric.create_remote(&remote(1, 2, 9)).await }
    });
    let made = [here.await.unwrap(), there.await.unwrap()].iter().filter(|made| made.is_ok()).count();
    assert_eq!(made, 1);
    fabric.delete_local(&local(1, 2)).await.unwrap();
    fabric.delete_remote(&remote(1, 2, 9)).await.unwrap();
}
