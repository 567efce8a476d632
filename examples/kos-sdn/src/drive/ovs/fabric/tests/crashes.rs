//! Crashes before and after each effect on the switch.

use std::sync::Arc;

use machinery::testing::{CrashGate, CrashPoints};
use machinery::tokio;

use super::bench::{FabricBench, HOST, local, remote};
use crate::drive::ovs::fabric::fake::FakeOvs;
use crate::drive::ovs::fabric::gated;
use crate::drive::{Fabric, FabricError, FabricRepairs, InterfaceList};

/// Creates and deletes interfaces; each call may repeat what a crashed fabric has done already.
async fn scenario(fabric: &dyn Fabric) -> Result<(), FabricError> {
    fabric.list().await?;
    fabric.reconcile().await?;
    let created = |result| match result {
        Err(FabricError::Taken { .. }) => Ok(()),
        result => result,
    };
    created(fabric.create_local(&local(2)).await)?;
    created(fabric.create_remote(&remote(3)).await)?;
    created(fabric.create_local(&local(4)).await)?;
    fabric.delete_local(&local(2)).await?;
    fabric.delete_remote(&remote(3)).await?;
    created(fabric.create_remote(&remote(5)).await)?;
    created(fabric.create_local(&local(6)).await)
}

/// Runs the scenario up to a crash, and again with a new fabric.
async fn crash(gate: Arc<CrashGate>) -> machinery::Result {
    let ovs = FakeOvs::new("kos", HOST, 1500);
    let connections = gated(ovs.connect("kos"), &gate);
    let bench = FabricBench::with(ovs, connections);
    tokio::select! {
        biased;
        () = gate.crashed() => {}
        result = scenario(&bench.fabric) => result.unwrap(),
    }
    let bench = FabricBench::on(bench.crash().await);
    scenario(&bench.fabric).await.unwrap();
    let list = InterfaceList {
        locals: vec![local(4), local(6)],
        remotes: vec![remote(5)],
        ..InterfaceList::default()
    };
    assert_eq!(bench.fabric.list().await, Ok(list));
    assert_eq!(bench.fabric.reconcile().await, Ok(FabricRepairs::default()));
    let (ports, flows, namespaces) = bench.state().await;
    assert_eq!((ports.len(), flows), (4, 2 + 3 * 4));
    assert_eq!(namespaces, ["default.a4", "default.a6"]);
    for interface in [local(4), local(6)] {
        bench.fabric.delete_local(&interface).await.unwrap();
    }
    bench.fabric.delete_remote(&remote(5)).await.unwrap();
    let (ports, flows, namespaces) = bench.state().await;
    assert_eq!((ports.len(), flows, namespaces.len()), (2, 2, 0), "nothing is left");
    bench.crash().await;
    Ok(())
}

#[tokio::test(crate = "machinery::tokio")]
async fn a_fabric_crashing_at_any_effect_converges_to_the_same_state() {
    let report = CrashPoints::all().run(crash).await.unwrap();
    assert!(report.effects.len() >= 20, "{report:?}");
}
