//! Killed daemons, a lost database, and a cut underlay.

use std::time::Duration;

use super::{DAEMON, SwitchState};
use crate::ovs::cloud::Cloud;
use crate::ovs::foreign;
use crate::ovs::requirements::can_run;

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn daemons_may_be_killed() {
    let Some(_turn) = can_run("daemons_may_be_killed") else { return };
    let mut cloud = Cloud::with_attachments().await;
    foreign::create(cloud.host(1));
    let before = foreign::state(cloud.host(1));

    let daemons = &mut cloud.host_mut(1).daemons;
    daemons.kill_switch();
    daemons.start_switch();
    foreign::add_flows(cloud.host(1));
    cloud.assert_repaired("ovs-vswitchd killed", DAEMON, SwitchState::Closed).await;

    let daemons = &mut cloud.host_mut(1).daemons;
    daemons.kill_database();
    daemons.start_database();
    // The switch reconnects with a back-off of its own.
    daemons.wait_for_switch();
    cloud.assert_repaired("ovsdb-server killed", DAEMON, SwitchState::Closed).await;

    let daemons = &mut cloud.host_mut(1).daemons;
    daemons.kill_database();
    daemons.kill_switch();
    daemons.start_database();
    daemons.start_switch();
    foreign::add_flows(cloud.host(1));
    cloud.assert_repaired("both daemons killed", DAEMON, SwitchState::Closed).await;
    assert_eq!(foreign::state(cloud.host(1)), before, "the foreign bridge changed");

    let host = cloud.host_mut(1);
    host.daemons.kill_database();
    host.daemons.lose_database();
    host.daemons.start_database();
    host.daemons.vsctl("--no-wait init");
    host.connect();
    // Its owner creates it again, with rows of other identities.
    foreign::create(host);
    let before = foreign::state(host);
    cloud.assert_repaired("the database lost", DAEMON, SwitchState::Closed).await;

    cloud.hosts.underlay.ip("link set h2 down");
    tokio::time::sleep(Duration::from_secs(2)).await;
    cloud.probe.assert_isolated("while the underlay is cut");
    cloud.hosts.underlay.ip("link set h2 up");
    cloud.assert_repaired("the underlay cut and restored", DAEMON, SwitchState::Closed).await;
    assert_eq!(foreign::state(cloud.host(1)), before, "the foreign bridge changed");
    cloud.stop().await;
}
