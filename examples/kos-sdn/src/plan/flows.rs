//! The flows of a node: one pipeline of two tables, for any switch.
//!
//! Table 0 classifies frames by source: it accepts a frame only from the port or tunnel of its
//! interface, with that interface's MAC and IP addresses, and sets the network. Table 1 forwards by
//! destination. All destinations are known, so nothing is flooded: an ARP request goes to the
//! holder of the address only, and other broadcast and multicast frames are dropped.

use std::collections::BTreeSet;
use std::net::Ipv4Addr;

use machinery::objects::ObjectKey;

use super::cookie::{COOKIE_MARK, local_cookie, remote_cookie};
use super::flow::{Action, EtherType, Flow, Match, Port};
use super::{Mac, interface_name};
use crate::model::Vni;

/// An interface on this node.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct LocalInterface {
    /// Name of the interface.
    pub name: String,
    /// VNI of the network.
    pub vni: Vni,
    /// MAC address.
    pub mac: Mac,
    /// IPv4 address.
    pub address: Ipv4Addr,
    /// The workload that uses the interface, if known.
    pub workload: Option<Workload>,
}

/// The user of a local interface: an attachment, and thereby a network namespace.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Workload {
    /// Key of the attachment.
    pub attachment: ObjectKey,
    /// Prefix length of the subnet; without one the address is a host address.
    pub prefix_length: Option<u8>,
}

/// An interface on another node.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct RemoteInterface {
    /// VNI of the network.
    pub vni: Vni,
    /// MAC address.
    pub mac: Mac,
    /// IPv4 address.
    pub address: Ipv4Addr,
    /// Underlay address of the interface's node: the tunnel destination.
    pub host: Ipv4Addr,
}

/// The differences between desired and actual flows of a switch.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct FlowDifference {
    /// Desired flows that the switch lacks.
    pub missing: Vec<Flow>,
    /// Flows of the switch that are not desired.
    pub foreign: Vec<Flow>,
}

const CLASSIFY: u8 = 0;
const FORWARD: u8 = 1;
const PRIORITY_DROP: u16 = 0;
const PRIORITY_FRAMES: u16 = 100;
/// Above [`PRIORITY_FRAMES`]: a unicast ARP request can match a flow of each kind.
const PRIORITY_REQUESTS: u16 = 200;

impl LocalInterface {
    /// Creates the interface for an address of a network.
    #[must_use]
    pub fn new(vni: Vni, address: Ipv4Addr) -> Self {
        let mac = Mac::of(vni, address);
        Self { name: interface_name(mac), vni, mac, address, workload: None }
    }

    /// Returns the interface with its workload.
    #[must_use]
    pub fn with_workload(self, attachment: ObjectKey, prefix_length: Option<u8>) -> Self {
        Self { workload: Some(Workload { attachment, prefix_length }), ..self }
    }
}

impl RemoteInterface {
    /// Creates the remote interface for an address of a network and its node.
    #[must_use]
    pub const fn new(vni: Vni, address: Ipv4Addr, host: Ipv4Addr) -> Self {
        Self { vni, mac: Mac::of(vni, address), address, host }
    }
}

/// Returns the flows present on every switch: a table drops frames that no other flow matches.
#[must_use]
pub fn default_drop_flows() -> Vec<Flow> {
    let drop = |table| Flow {
        table,
        priority: PRIORITY_DROP,
        cookie: COOKIE_MARK,
        matches: Match::default(),
        actions: Vec::new(),
    };
    [CLASSIFY, FORWARD].map(drop).into()
}

/// Returns the flows of a local interface at a port.
#[must_use]
pub fn local_flows(local: &LocalInterface, port: Port) -> Vec<Flow> {
    let from = Match { in_port: Some(port), ..Match::default() };
    let accept = [Action::SetTunnel(local.vni), Action::GotoTable(FORWARD)];
    let deliver = [Action::Output(port)];
    flows(local_cookie(local.mac), (local.vni, local.mac, local.address), &from, &accept, &deliver)
}

/// Returns the flows of a remote interface behind the tunnel port.
#[must_use]
pub fn remote_flows(remote: &RemoteInterface, tunnels: Port) -> Vec<Flow> {
    let vni = Some(remote.vni.number());
    let from = Match { in_port: Some(tunnels), tun_id: vni, tun_src: Some(remote.host), ..Match::default() };
    let deliver = [Action::SetTunnelTo(remote.host), Action::Output(tunnels)];
    flows(
        remote_cookie(remote.mac),
        (remote.vni, remote.mac, remote.address),
        &from,
        &[Action::GotoTable(FORWARD)],
        &deliver,
    )
}

/// Compares the desired flows with the flows of a switch.
#[must_use]
pub fn flow_difference(desired: &BTreeSet<Flow>, found: &BTreeSet<Flow>) -> FlowDifference {
    FlowDifference {
        missing: desired.difference(found).cloned().collect(),
        foreign: found.difference(desired).cloned().collect(),
    }
}

/// Returns the flows from an interface, with anti-spoofing matches, and to it.
fn flows(
    cookie: u64,
    (vni, mac, address): (Vni, Mac, Ipv4Addr),
    from: &Match,
    accept: &[Action],
    deliver: &[Action],
) -> Vec<Flow> {
    let flow = |table, priority, matches, actions: &[Action]| Flow {
        table,
        priority,
        cookie,
        matches,
        actions: actions.into(),
    };
    // Table 1 sees only frames that table 0 has accepted: untagged ones.
    let from = Match { untagged: true, dl_src: Some(mac), ..from.clone() };
    let packets = Match { dl_type: Some(EtherType::Ipv4), nw_src: Some(address), ..from.clone() };
    // A forged sender in an ARP reply would redirect the traffic of others.
    let arp = Match { dl_type: Some(EtherType::Arp), arp_sha: Some(mac), arp_spa: Some(address), ..from };
    let to = Match { tun_id: Some(vni.number()), ..Match::default() };
    // The IP destination is not matched: only the source of a frame can be spoofed.
    let frames = Match { dl_dst: Some(mac), ..to.clone() };
    let requests = Match { dl_type: Some(EtherType::Arp), arp_tpa: Some(address), ..to };
    vec![
        flow(CLASSIFY, PRIORITY_FRAMES, packets, accept),
        flow(CLASSIFY, PRIORITY_FRAMES, arp, accept),
        flow(FORWARD, PRIORITY_FRAMES, frames, deliver),
        flow(FORWARD, PRIORITY_REQUESTS, requests, deliver),
    ]
}

#[cfg(test)]
mod tests {
    use super::*;

    fn vni(number: u32) -> Vni {
        Vni::new(number).unwrap()
    }

    fn shown(flows: &[Flow]) -> String {
        flows.iter().map(|flow| format!("{flow}\n")).collect()
    }

    #[test]
    fn flows_use_ovs_ofctl_syntax() {
        let expected = "\
cookie=0x4b4e000000000000, table=0, priority=0 actions=drop
cookie=0x4b4e000000000000, table=1, priority=0 actions=drop
";
        assert_eq!(shown(&default_drop_flows()), expected);
        let local = LocalInterface::new(vni(1), [10, 24, 0, 2].into());
        let expected = "\
cookie=0x4b4f061800020001, table=0, priority=100,ip,in_port=7,vlan_tci=0x0000/0x1fff,dl_src=06:18:00:02:00:01,nw_src=10.24.0.2 actions=set_field:0x1->tun_id,goto_table:1
cookie=0x4b4f061800020001, table=0, priority=100,arp,in_port=7,vlan_tci=0x0000/0x1fff,dl_src=06:18:00:02:00:01,arp_spa=10.24.0.2,arp_sha=06:18:00:02:00:01 actions=set_field:0x1->tun_id,goto_table:1
cookie=0x4b4f061800020001, table=1, priority=100,tun_id=0x1,dl_dst=06:18:00:02:00:01 actions=output:7
cookie=0x4b4f061800020001, table=1, priority=200,arp,tun_id=0x1,arp_tpa=10.24.0.2 actions=output:7
";
        assert_eq!(shown(&local_flows(&local, Port(7))), expected);
        let remote = RemoteInterface::new(vni(1), [10, 24, 0, 2].into(), [192, 0, 2, 9].into());
        let expected = "\
cookie=0x4b4e061800020001, table=0, priority=100,ip,tun_id=0x1,tun_src=192.0.2.9,in_port=1,vlan_tci=0x0000/0x1fff,dl_src=06:18:00:02:00:01,nw_src=10.24.0.2 actions=goto_table:1
cookie=0x4b4e061800020001, table=0, priority=100,arp,tun_id=0x1,tun_src=192.0.2.9,in_port=1,vlan_tci=0x0000/0x1fff,dl_src=06:18:00:02:00:01,arp_spa=10.24.0.2,arp_sha=06:18:00:02:00:01 actions=goto_table:1
cookie=0x4b4e061800020001, table=1, priority=100,tun_id=0x1,dl_dst=06:18:00:02:00:01 actions=set_field:192.0.2.9->tun_dst,output:1
cookie=0x4b4e061800020001, table=1, priority=200,arp,tun_id=0x1,arp_tpa=10.24.0.2 actions=set_field:192.0.2.9->tun_dst,output:1
";
        assert_eq!(shown(&remote_flows(&remote, Port(1))), expected);
    }

    #[test]
    fn flow_difference_has_missing_and_foreign_flows() {
        let of = |address: [u8; 4]| local_flows(&LocalInterface::new(vni(1), address.into()), Port(7));
        let (a, b) = (of([10, 0, 0, 2]), of([10, 0, 0, 3]));
        let [desired, found] = [&a, &b].map(|flows| flows.iter().cloned().collect());
        let mut difference = flow_difference(&desired, &found);
        difference.missing.sort();
        assert_eq!(difference.missing, desired.iter().cloned().collect::<Vec<_>>());
        assert_eq!(difference.foreign, found.iter().cloned().collect::<Vec<_>>());
        assert_eq!(super::flow_difference(&desired, &desired), FlowDifference::default());
    }
}
