//! Agents that end, move and meet others.

use std::net::Ipv4Addr;
use std::time::Duration;

use kos::drive::{Fabric as _, FabricError};
use kos::model::Vni;
use kos::plan::LocalInterface;

use super::{BY_HAND, DAEMON, SwitchState};
use crate::ovs::cloud::Cloud;
use crate::ovs::equality::BRIDGE;
use crate::ovs::requirements::can_run;
use crate::ovs::rows::table;

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn agents_may_restart_and_second_agents_write_nothing() {
    let Some(_turn) = can_run("agents_may_restart_and_second_agents_write_nothing") else { return };
    let mut cloud = Cloud::with_attachments().await;

    cloud.kill_agent(1).await;
    cloud.probe.begin_steady();
    cloud.start_agent(1, cloud.host(1).address()).await;
    cloud.assert_repaired("an agent restarted", BY_HAND, SwitchState::Closed).await;
    let gaps = cloud.probe.end_steady();
    assert!(gaps.is_empty(), "the restart of an agent interrupts nothing: {gaps:#?}");

    // Changes while the agent is down.
    cloud.kill_agent(1).await;
    cloud.detach("r4").await;
    cloud.attach("r5", 1, "red").await;
    let daemons = &cloud.host(1).daemons;
    daemons.ofctl("del-flows", BRIDGE, &["table=1"]).unwrap();
    cloud.start_agent(1, cloud.host(1).address()).await;
    cloud.until_gone("r4").await;
    cloud.assert_repaired("changes without an agent", BY_HAND, SwitchState::Closed).await;

    cloud.kill_agent(1).await;
    let moved = Ipv4Addr::new(192, 0, 2, 101);
    cloud.host(1).move_to(moved);
    cloud.start_agent(1, moved).await;
    cloud.assert_repaired("an agent with another host address", DAEMON, SwitchState::Closed).await;

    let rows = |cloud: &Cloud| {
        let rows = table(cloud.host(1), "interface").unwrap();
        rows.iter().map(|row| format!("{:?}", row.configuration())).collect::<Vec<_>>()
    };
    let before = rows(&cloud);
    let second = cloud.another_agent(1, cloud.host(1).address()).await;
    let interface = LocalInterface::new(Vni::new(71).unwrap(), [10, 7, 0, 200].into());
    let refused = loop {
        match second.fabric.create_local(&interface).await {
            Err(FabricError::Unavailable { .. }) => tokio::time::sleep(Duration::from_millis(20)).await,
            refused => break refused,
        }
    };
    assert!(matches!(refused, Err(FabricError::LockLost { .. })), "{refused:?}");
    cloud.attach("r6", 1, "red").await;
    cloud.assert_repaired("a second agent of the node", BY_HAND, SwitchState::Closed).await;
    cloud.detach("r6").await;
    cloud.until_gone("r6").await;
    cloud.assert_repaired("a deletion beside a second agent", BY_HAND, SwitchState::Closed).await;
    assert_eq!(rows(&cloud), before, "rows changed by a second agent");

    // The second takes over once the first ends.
    cloud.kill_agent(1).await;
    cloud.adopt_agent(1, second);
    cloud.host(1).move_to(cloud.host(1).address());
    cloud.attach("r7", 1, "red").await;
    cloud.assert_repaired("the second agent takes over", DAEMON, SwitchState::Closed).await;
    cloud.stop().await;
}
