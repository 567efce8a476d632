//! Crashes before and after each effect on the switch.

use machinery::tokio;

use super::bench::{FabricBench, HOST, local, remote};
use super::gate::{EffectGate, EffectSide};
use crate::drive::ovs::fabric::fake::FakeOvs;
use crate::drive::test_fabric::TestFabric;
use crate::drive::{FabricError, InterfaceList};

/// Creates and deletes interfaces; each call may repeat what a crashed fabric has done already.
async fn scenario(fabric: &TestFabric) -> Result<(), FabricError> {
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

/// Runs the scenario with a crash, and again with a new fabric. Returns the number of effects.
async fn crash(at: Option<(usize, EffectSide)>) -> usize {
    let (ovs, gate) = (FakeOvs::new("kos", HOST, 1500), EffectGate::crashing(at));
    let connections = gate.before(ovs.connect("kos"));
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
    bench.settled().await;
    assert_eq!(bench.fabric.list().await, Ok(list), "{at:?}");
    let (ports, flows, namespaces) = bench.state().await;
    assert_eq!((ports.len(), flows), (4, 2 + 3 * 4), "{at:?}");
    assert_eq!(namespaces, ["default.a4", "default.a6"], "{at:?}");
    for interface in [local(4), local(6)] {
        bench.fabric.delete_local(&interface).await.unwrap();
    }
    bench.fabric.delete_remote(&remote(5)).await.unwrap();
    let (ports, flows, namespaces) = bench.state().await;
    assert_eq!((ports.len(), flows, namespaces.len()), (2, 2, 0), "{at:?}: nothing is left");
    bench.crash().await;
    gate.effects()
}

#[tokio::test(crate = "machinery::tokio")]
async fn a_fabric_crashing_at_any_effect_converges_to_the_same_state() {
    let effects = crash(None).await;
    assert!(effects >= 20, "{effects}");
    for number in 1..=effects {
        crash(Some((number, EffectSide::Before))).await;
        crash(Some((number, EffectSide::After))).await;
    }
}
