//! Tests of the isolation probe itself, on a bridge without an agent.

use std::net::Ipv4Addr;
use std::time::Duration;

use kos::model::Vni;
use kos::plan::{LocalInterface, Port, default_drop_flows, local_flows};

use super::hosts::{Host, Hosts};
use super::namespace::Namespace;
use super::probe::{IsolationProbe, Station};
use super::requirements::can_run;

const BRIDGE: &str = "kos";

/// Two networks with equal addresses.
const INTERFACES: [(u32, u8); 4] = [(1, 2), (1, 3), (2, 2), (2, 3)];

/// Creates a port, moves it into a namespace, and adds its flows.
fn attach(hosts: &Hosts, vni: u32, low: u8) -> (Namespace, Station) {
    let host = &hosts.hosts[0];
    let address = Ipv4Addr::new(10, 0, 0, low);
    let local = LocalInterface::new(Vni::new(vni).unwrap(), address);
    let namespace = Namespace::new(&format!("{}-{vni}-{low}", hosts.tag));
    let (name, mac) = (&local.name, local.mac);
    host.daemons.vsctl(&format!("add-port {BRIDGE} {name} -- set interface {name} type=internal"));
    host.namespace.ip(&format!("link set {name} netns {}", namespace.name()));
    namespace.ip(&format!("link set {name} address {mac} mtu 1450 up"));
    namespace.ip(&format!("addr add {address}/24 dev {name}"));
    let port = host.daemons.vsctl(&format!("get interface {name} ofport"));
    let port = Port(port.trim().parse().unwrap());
    add_flows(host, &local_flows(&local, port));
    let station = Station::new(namespace.name(), vni, address);
    (namespace, station)
}

fn add_flows(host: &Host, flows: &[kos::plan::Flow]) {
    let text: String = flows.iter().map(|flow| format!("{flow}\n")).collect();
    host.daemons.add_flows(BRIDGE, &text);
}

#[test]
fn isolation_probe_finds_an_open_switch() {
    let Some(_turn) = can_run("isolation_probe_finds_an_open_switch") else { return };
    let hosts = Hosts::start(1);
    let daemons = &hosts.hosts[0].daemons;
    daemons.vsctl(&format!(
        "add-br {BRIDGE} -- set bridge {BRIDGE} datapath_type=netdev fail_mode=secure protocols=OpenFlow15"
    ));
    add_flows(&hosts.hosts[0], &default_drop_flows());
    let attached = INTERFACES.map(|(vni, low)| attach(&hosts, vni, low));
    let mut probe = IsolationProbe::default();
    for (_, station) in &attached {
        probe.add(station.clone());
    }
    probe.wait_for_all_pairs(Duration::from_secs(30));
    probe.assert_steady(Duration::from_secs(2));
    probe.assert_isolated("with all flows");
    daemons.ofctl("del-flows", BRIDGE, &[]).unwrap();
    std::thread::sleep(Duration::from_secs(1));
    probe.begin_steady();
    std::thread::sleep(Duration::from_secs(2));
    assert_eq!(probe.end_steady().len(), 4, "each permitted sender is missing");
    probe.assert_isolated("without flows");
    daemons.vsctl(&format!("set-fail-mode {BRIDGE} standalone"));
    std::thread::sleep(Duration::from_secs(1));
    let leaks = probe.take_leaks();
    assert!(!leaks.is_empty(), "a learning switch forwards everything");
    let across = leaks.iter().filter(|leak| leak.mark.vni != leak.mark.to_vni).count();
    println!("{} frames arrived through the open switch, {across} of them across networks", leaks.len());
    assert!(across > 0);
}
