//! The client against Open vSwitch.

use std::collections::BTreeSet;
use std::time::Duration;

use machinery::tokio::time::timeout;
use machinery::tokio_util::sync::{CancellationToken, DropGuard};
use machinery::tokio_util::task::TaskTracker;

use super::real_switch::RealSwitch;
use crate::drive::ovs::openflow::{
    FlowChange, FlowSwitch, FoundFlow, OpenFlowClient, OpenFlowError, OpenFlowSettings, SwitchStatus,
};
use crate::model::Vni;
use crate::plan::{
    Action, COOKIE_MARK, COOKIE_MARK_MASK, Flow, LocalInterface, Match, Port, RemoteInterface,
    default_drop_flows, local_flows, remote_flows,
};

/// Ten times the promise: a change by others is noticed within two seconds.
const DEADLINE: Duration = Duration::from_secs(20);

fn flows() -> BTreeSet<Flow> {
    let vni = Vni::new(1).unwrap();
    let local = local_flows(&LocalInterface::new(vni, [10, 24, 0, 2].into()), Port(2));
    let remote = RemoteInterface::new(vni, [10, 24, 0, 3].into(), [198, 51, 100, 9].into());
    default_drop_flows().into_iter().chain(local).chain(remote_flows(&remote, Port(1))).collect()
}

fn additions() -> Vec<FlowChange> {
    flows().into_iter().map(FlowChange::Add).collect()
}

/// Starts a client of a switch, and waits until it is connected.
async fn client(switch: &RealSwitch) -> (OpenFlowClient, DropGuard) {
    let stopping = CancellationToken::new();
    let (socket, settings) = (switch.path("kos.mgmt"), OpenFlowSettings::default());
    let client = OpenFlowClient::start(socket, settings, &TaskTracker::new(), stopping.clone());
    status(&client, |status| status.is_connected && status.is_monitored).await;
    (client, stopping.drop_guard())
}

async fn status(client: &OpenFlowClient, is: impl Fn(&SwitchStatus) -> bool) -> SwitchStatus {
    let mut changes = client.status();
    let waiting = changes.wait_for(|status| is(status));
    timeout(DEADLINE, waiting).await.expect("the deadline").unwrap().clone()
}

async fn known(client: &OpenFlowClient) -> BTreeSet<Flow> {
    let flow = |found| match found {
        FoundFlow::Known(flow) => flow,
        FoundFlow::Opaque(flow) => panic!("{flow}"),
    };
    client.dump().await.unwrap().into_iter().map(flow).collect()
}

/// Returns the lines of `ovs-ofctl dump-flows` without statistics.
fn printed(switch: &RealSwitch) -> BTreeSet<String> {
    const STATISTICS: [&str; 5] = ["duration=", "n_packets=", "n_bytes=", "idle_age=", "hard_age="];
    let is_kept = |part: &&str| !STATISTICS.iter().any(|statistic| part.starts_with(statistic));
    let line = |line: &str| line.trim().split(", ").filter(is_kept).collect::<Vec<_>>().join(", ");
    switch.ofctl("dump-flows", &[]).lines().filter(|line| line.contains("cookie=")).map(line).collect()
}

#[tokio::test]
async fn flows_are_printed_by_ovs_as_their_text() {
    let Some(switch) = RealSwitch::start("flows_are_printed_by_ovs_as_their_text") else { return };
    let (client, _guard) = client(&switch).await;
    client.apply(additions()).await.unwrap();
    assert_eq!(printed(&switch), flows().iter().map(Flow::to_string).collect());
    assert_eq!(known(&client).await, flows());
    // The other way round: flows added by their text are found as these flows.
    client
        .apply(vec![FlowChange::DeleteByCookie { cookie: COOKIE_MARK, mask: COOKIE_MARK_MASK }])
        .await
        .unwrap();
    assert_eq!(known(&client).await, BTreeSet::new());
    flows().iter().for_each(|flow| drop(switch.ofctl("add-flow", &[&flow.to_string()])));
    assert_eq!(known(&client).await, flows());
    for flow in flows() {
        client.apply(vec![FlowChange::Delete(flow)]).await.unwrap();
    }
    assert_eq!(known(&client).await, BTreeSet::new());
}

#[tokio::test]
async fn a_bundle_is_applied_entirely_or_not_at_all() {
    let Some(switch) = RealSwitch::start("a_bundle_is_applied_entirely_or_not_at_all") else { return };
    let (client, _guard) = client(&switch).await;
    client.apply(additions()).await.unwrap();
    let foreign = client.status().borrow().foreign_changes;
    // The switch refuses a jump back when it is added to the bundle.
    let back = Flow {
        table: 1,
        priority: 7,
        cookie: COOKIE_MARK,
        matches: Match::default(),
        actions: vec![Action::GotoTable(0)],
    };
    let mut changes: Vec<_> = flows().into_iter().map(FlowChange::Delete).collect();
    changes.push(FlowChange::Add(back.clone()));
    let error = client.apply(changes).await.unwrap_err();
    let reason = "OFPBIC_BAD_TABLE_ID".into();
    assert_eq!(error, OpenFlowError::RefusedFlow { flow: back.to_string(), reason });
    assert_eq!(known(&client).await, flows());
    // The switch refuses a flow too many when the bundle is committed.
    let limit = "-- --id=@t create Flow_Table flow_limit=6 overflow_policy=refuse \
                 -- set bridge kos flow_tables:0=@t";
    switch.vsctl(&limit.split_whitespace().collect::<Vec<_>>());
    let forward = |priority| Flow { table: 0, priority, actions: Vec::new(), ..back.clone() };
    let changes: Vec<_> = (300..310).map(|priority| FlowChange::Add(forward(priority))).collect();
    let error = client.apply(changes).await.unwrap_err();
    assert_eq!(
        error,
        OpenFlowError::RefusedFlow { flow: forward(301).to_string(), reason: "OFPFMFC_TABLE_FULL".into() }
    );
    assert_eq!(known(&client).await, flows());
    let status = client.status().borrow().clone();
    assert_eq!((status.epoch, status.foreign_changes), (1, foreign), "no change is foreign");
}

#[tokio::test]
async fn changes_by_others_are_noticed() {
    let Some(switch) = RealSwitch::start("changes_by_others_are_noticed") else { return };
    let (client, _guard) = client(&switch).await;
    client.apply(additions()).await.unwrap();
    client.dump().await.unwrap();
    let mut version = client.status().borrow().flow_version();
    assert_eq!(version, Some((1, 0)), "changes of ours are not foreign");
    let by_hand: [(&str, &str); 5] = [
        ("add-flow", "priority=65535 actions=NORMAL"),
        ("add-flow", "table=1,priority=9,ip,nw_dst=10.0.0.0/8,idle_timeout=100 actions=drop"),
        ("mod-flows", "table=1,arp actions=output:3"),
        ("del-flows", "table=0,ip"),
        ("del-flows", "table=1"),
    ];
    for (command, flow) in by_hand {
        switch.ofctl(command, &[flow]);
        version = status(&client, |status| status.flow_version() != version).await.flow_version();
    }
    let dumped = client.dump().await.unwrap();
    let opaque: Vec<_> = dumped.iter().filter(|flow| matches!(flow, FoundFlow::Opaque(_))).collect();
    assert!(matches!(&opaque[..], [FoundFlow::Opaque(flow)] if flow.priority == 65535), "{opaque:?}");
    client.apply(dumped.iter().map(FoundFlow::deletion).collect()).await.unwrap();
    assert_eq!(known(&client).await, BTreeSet::new());
    // Also a match that we cannot express is deleted by its bytes.
    switch.ofctl("add-flow", &["table=1,priority=9,ip,nw_dst=10.0.0.0/8,idle_timeout=100 actions=drop"]);
    let dumped = client.dump().await.unwrap();
    client.apply(dumped.iter().map(FoundFlow::deletion).collect()).await.unwrap();
    assert_eq!(client.dump().await.unwrap(), []);
}

#[tokio::test]
async fn port_changes_are_noticed() {
    let Some(switch) = RealSwitch::start("port_changes_are_noticed") else { return };
    let (client, _guard) = client(&switch).await;
    let before = client.status().borrow().port_changes;
    switch.vsctl(&[
        "add-port",
        "kos",
        "p4",
        "--",
        "set",
        "interface",
        "p4",
        "type=dummy",
        "ofport_request=4",
    ]);
    status(&client, |status| status.port_changes > before).await;
    let mut ports = client.ports().await.unwrap();
    ports.sort();
    let names: Vec<_> = ports.iter().map(|port| (port.number.0, &*port.name)).collect();
    assert_eq!(names, [(1, "vtep"), (2, "p2"), (3, "p3"), (4, "p4"), (0xffff_fffe, "kos")]);
}

#[tokio::test]
async fn restarted_vswitchd_is_a_new_epoch_without_flows() {
    let Some(switch) = RealSwitch::start("restarted_vswitchd_is_a_new_epoch_without_flows") else { return };
    let (client, _guard) = client(&switch).await;
    client.apply(additions()).await.unwrap();
    switch.kill_vswitchd();
    status(&client, |status| !status.is_connected).await;
    let error = client.apply(additions()).await.unwrap_err();
    assert!(error.had_no_effect(), "{error}");
    switch.start_vswitchd();
    status(&client, |status| status.epoch == 2).await;
    assert_eq!(known(&client).await, BTreeSet::new());
    client.apply(additions()).await.unwrap();
    assert_eq!(known(&client).await, flows());
}

#[tokio::test]
async fn forty_thousand_flows_are_sent_and_dumped() {
    let Some(switch) = RealSwitch::start("forty_thousand_flows_are_sent_and_dumped") else { return };
    let (client, _guard) = client(&switch).await;
    let vni = Vni::new(5).unwrap();
    let remote =
        |number: u32| RemoteInterface::new(vni, (0x0a00_0000 + number).into(), [198, 51, 100, 9].into());
    let flows: BTreeSet<Flow> =
        (1..=10_000).flat_map(|number| remote_flows(&remote(number), Port(1))).collect();
    client.apply(flows.iter().cloned().map(FlowChange::Add).collect()).await.unwrap();
    assert!(known(&client).await == flows);
    let all = FlowChange::DeleteByCookie { cookie: COOKIE_MARK, mask: COOKIE_MARK_MASK };
    client.apply(vec![all]).await.unwrap();
    assert_eq!(client.dump().await.unwrap(), []);
    assert_eq!(client.status().borrow().flow_version(), Some((1, 0)));
}
