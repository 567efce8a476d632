//! Changes of the switch by hand.

use super::{BY_HAND, SwitchState};
use crate::ovs::cloud::Cloud;
use crate::ovs::command::run;
use crate::ovs::equality::BRIDGE;
use crate::ovs::foreign;
use crate::ovs::requirements::can_run;

/// Returns the OpenFlow port of an attachment's interface on host 1.
fn port(cloud: &Cloud, name: &str) -> String {
    let interface = cloud.get(name).unwrap().status.ifc_name.clone();
    cloud.host(1).daemons.vsctl(&format!("get interface {interface} ofport")).trim().to_owned()
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn changes_of_the_switch_by_hand_are_repaired() {
    let Some(_turn) = can_run("changes_of_the_switch_by_hand_are_repaired") else { return };
    let mut cloud = Cloud::with_attachments().await;
    foreign::create(cloud.host(1));
    let before = foreign::state(cloud.host(1));
    cloud.assert_repaired("a foreign bridge created", BY_HAND, SwitchState::Closed).await;
    let mac = cloud.station("r1").mac();

    let daemons = &cloud.host(1).daemons;
    daemons.ofctl("del-flows", BRIDGE, &[&format!("table=1,dl_dst={mac}")]).unwrap();
    cloud.assert_repaired("a flow deleted", BY_HAND, SwitchState::Closed).await;

    let daemons = &cloud.host(1).daemons;
    daemons.ofctl("del-flows", BRIDGE, &[]).unwrap();
    cloud.assert_repaired("all flows deleted", BY_HAND, SwitchState::Closed).await;

    let to_blue =
        format!("table=1,priority=100,tun_id=71,dl_dst={mac},actions=output:{}", port(&cloud, "b1"));
    let daemons = &cloud.host(1).daemons;
    daemons.ofctl("--strict mod-flows", BRIDGE, &[&to_blue]).unwrap();
    cloud.assert_repaired("a flow changed", BY_HAND, SwitchState::Opened).await;

    let daemons = &cloud.host(1).daemons;
    daemons.ofctl("add-flow", BRIDGE, &["table=0,priority=65535,actions=NORMAL"]).unwrap();
    cloud.assert_repaired("a flow to NORMAL added", BY_HAND, SwitchState::Opened).await;

    let (number, name) = (port(&cloud, "r1"), cloud.get("r1").unwrap().status.ifc_name.clone());
    let daemons = &cloud.host(1).daemons;
    daemons.vsctl(&format!("del-port {BRIDGE} {name}"));
    daemons.vsctl(&format!(
        "add-port {BRIDGE} intruder -- set interface intruder type=internal ofport_request={number}"
    ));
    cloud.assert_repaired("a port deleted and its number reused", BY_HAND, SwitchState::Closed).await;

    cloud.host(1).daemons.vsctl(&format!("set-fail-mode {BRIDGE} standalone"));
    cloud.assert_repaired("fail_mode changed", BY_HAND, SwitchState::Opened).await;

    cloud.host(1).daemons.vsctl(&format!("set interface {BRIDGE}-vtep options:local_ip=192.0.2.77"));
    cloud.assert_repaired("tunnel options changed", BY_HAND, SwitchState::Closed).await;

    cloud.host(1).daemons.vsctl(&format!("del-port {BRIDGE} {BRIDGE}-vtep"));
    cloud.assert_repaired("the tunnel port deleted", BY_HAND, SwitchState::Closed).await;

    cloud.host(1).daemons.vsctl(&format!("del-br {BRIDGE}"));
    cloud.assert_repaired("the bridge deleted", BY_HAND, SwitchState::Closed).await;

    run(&["ip", "netns", "delete", &cloud.workload("r2")]);
    cloud.assert_repaired("a workload's namespace deleted", BY_HAND, SwitchState::Closed).await;

    let (workload, name) = (cloud.workload("b1"), cloud.get("b1").unwrap().status.ifc_name.clone());
    run(&["ip", "-n", &workload, "link", "set", &name, "down"]);
    cloud.assert_repaired("a link set down", BY_HAND, SwitchState::Closed).await;

    assert_eq!(foreign::state(cloud.host(1)), before, "the foreign bridge changed");
    cloud.stop().await;
}
