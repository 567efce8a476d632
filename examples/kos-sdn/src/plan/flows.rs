//! The flows of a node: one pipeline of two tables, for whatever switch runs it.
//!
//! Table 0 says from whom a frame is: by its port or its tunnel, with the addresses that are given to whoever is there, and of which network it
//! is then. What is from nobody is dropped. Table 1 says to whom it goes. Nobody is to be found: whoever may be sent to is known. So a
//! request by ARP goes to the one who has the address, and other frames to many go nowhere.

use std::collections::BTreeSet;
use std::net::Ipv4Addr;

use super::flow::{Action, EtherType, Flow, Match, Port};
use super::{Mac, interface_name};
use crate::model::Vni;

/// An interface on this node.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Local {
    /// What it is called.
    pub name: String,
    /// The network that it is in.
    pub vni: Vni,
    /// Its MAC address.
    pub mac: Mac,
    /// Its address.
    pub address: Ipv4Addr,
}

/// An interface on another node, and on which.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Remote {
    /// The network that it is in.
    pub vni: Vni,
    /// Its MAC address.
    pub mac: Mac,
    /// Its address.
    pub address: Ipv4Addr,
    /// The address of its node, in the network below.
    pub host: Ipv4Addr,
}

/// What is to be done to the flows of a switch.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Difference {
    /// These are not there.
    pub missing: Vec<Flow>,
    /// These are, and nobody wants them.
    pub foreign: Vec<Flow>,
}

const FROM: u8 = 0;
const TO: u8 = 1;
const DROP: u16 = 0;
const FRAMES: u16 = 100;
/// Before the others: to whom a request by ARP goes is not told by whom it is addressed to.
const REQUESTS: u16 = 200;

impl Local {
    /// The interface of an address of a network.
    #[must_use]
    pub fn new(vni: Vni, address: Ipv4Addr) -> Self {
        let mac = Mac::of(vni, address);
        Self { name: interface_name(mac), vni, mac, address }
    }
}

impl Remote {
    /// The interface of an address of a network, on another node.
    #[must_use]
    pub const fn new(vni: Vni, address: Ipv4Addr, host: Ipv4Addr) -> Self {
        Self { vni, mac: Mac::of(vni, address), address, host }
    }
}

/// The flows that are always there: what nothing else is said of is dropped.
#[must_use]
pub fn fixed() -> Vec<Flow> {
    let drop =
        |table| Flow { table, priority: DROP, cookie: 0, matches: Match::default(), actions: Vec::new() };
    [FROM, TO].map(drop).into()
}

/// The flows of an interface at a port of this node.
#[must_use]
pub fn local_flows(local: &Local, port: Port) -> Vec<Flow> {
    let from = Match { in_port: Some(port), ..Match::default() };
    let enters = [Action::SetTunnel(local.vni), Action::Resubmit(TO)];
    let leaves = [Action::Output(port)];
    flows(local_cookie(local.mac), (local.vni, local.mac, local.address), &from, &enters, &leaves)
}

/// The flows of an interface on another node, behind the port of the tunnels.
#[must_use]
pub fn remote_flows(remote: &Remote, tunnels: Port) -> Vec<Flow> {
    let vni = Some(remote.vni.number());
    let from = Match { in_port: Some(tunnels), tun_id: vni, tun_src: Some(remote.host), ..Match::default() };
    let leaves = [Action::SetTunnelTo(remote.host), Action::Output(tunnels)];
    flows(
        remote_cookie(remote.mac),
        (remote.vni, remote.mac, remote.address),
        &from,
        &[Action::Resubmit(TO)],
        &leaves,
    )
}

/// What marks the flows of an interface on this node: its MAC address, and that it is here.
#[must_use]
pub const fn local_cookie(mac: Mac) -> u64 {
    1 << 48 | mac.number()
}

/// What marks the flows of an interface on another node: its MAC address.
#[must_use]
pub const fn remote_cookie(mac: Mac) -> u64 {
    mac.number()
}

/// What a switch lacks and what it has too much.
#[must_use]
pub fn difference(wanted: &BTreeSet<Flow>, found: &BTreeSet<Flow>) -> Difference {
    Difference {
        missing: wanted.difference(found).cloned().collect(),
        foreign: found.difference(wanted).cloned().collect(),
    }
}

/// From whoever has these addresses, as those who are there may say of themselves, and to whoever has them.
fn flows(
    cookie: u64,
    (vni, mac, address): (Vni, Mac, Ipv4Addr),
    from: &Match,
    enters: &[Action],
    leaves: &[Action],
) -> Vec<Flow> {
    let flow = |table, priority, matches, actions: &[Action]| Flow {
        table,
        priority,
        cookie,
        matches,
        actions: actions.into(),
    };
    let from = Match { dl_src: Some(mac), ..from.clone() };
    let packets = Match { dl_type: Some(EtherType::Ipv4), nw_src: Some(address), ..from.clone() };
    let arp = Match { dl_type: Some(EtherType::Arp), arp_sha: Some(mac), arp_spa: Some(address), ..from };
    let to = Match { tun_id: Some(vni.number()), ..Match::default() };
    let frames = Match { dl_dst: Some(mac), ..to.clone() };
    let requests = Match { dl_type: Some(EtherType::Arp), arp_tpa: Some(address), ..to };
    vec![
        flow(FROM, FRAMES, packets, enters),
        flow(FROM, FRAMES, arp, enters),
        flow(TO, FRAMES, frames, leaves),
        flow(TO, REQUESTS, requests, leaves),
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
    fn flows_are_written_as_openflow_has_them() {
        assert_eq!(
            shown(&fixed()),
            "cookie=0x0,table=0,priority=0,actions=drop\ncookie=0x0,table=1,priority=0,actions=drop\n"
        );
        let local = Local::new(vni(1), [10, 24, 0, 2].into());
        let expected = "\
cookie=0x1061800020001,table=0,priority=100,ip,in_port=7,dl_src=06:18:00:02:00:01,nw_src=10.24.0.2,actions=set_field:1->tun_id,resubmit(,1)
cookie=0x1061800020001,table=0,priority=100,arp,in_port=7,dl_src=06:18:00:02:00:01,arp_sha=06:18:00:02:00:01,arp_spa=10.24.0.2,actions=set_field:1->tun_id,resubmit(,1)
cookie=0x1061800020001,table=1,priority=100,tun_id=1,dl_dst=06:18:00:02:00:01,actions=output:7
cookie=0x1061800020001,table=1,priority=200,arp,tun_id=1,arp_tpa=10.24.0.2,actions=output:7
";
        assert_eq!(shown(&local_flows(&local, Port(7))), expected);
        let remote = Remote::new(vni(1), [10, 24, 0, 2].into(), [192, 0, 2, 9].into());
        let expected = "\
cookie=0x61800020001,table=0,priority=100,ip,in_port=1,tun_id=1,tun_src=192.0.2.9,dl_src=06:18:00:02:00:01,nw_src=10.24.0.2,actions=resubmit(,1)
cookie=0x61800020001,table=0,priority=100,arp,in_port=1,tun_id=1,tun_src=192.0.2.9,dl_src=06:18:00:02:00:01,arp_sha=06:18:00:02:00:01,arp_spa=10.24.0.2,actions=resubmit(,1)
cookie=0x61800020001,table=1,priority=100,tun_id=1,dl_dst=06:18:00:02:00:01,actions=set_field:192.0.2.9->tun_dst,output:1
cookie=0x61800020001,table=1,priority=200,arp,tun_id=1,arp_tpa=10.24.0.2,actions=set_field:192.0.2.9->tun_dst,output:1
";
        assert_eq!(shown(&remote_flows(&remote, Port(1))), expected);
    }

    #[test]
    fn what_differs_is_found() {
        let of = |address: [u8; 4]| local_flows(&Local::new(vni(1), address.into()), Port(7));
        let (a, b) = (of([10, 0, 0, 2]), of([10, 0, 0, 3]));
        let [wanted, found] = [&a, &b].map(|flows| flows.iter().cloned().collect());
        let mut difference = difference(&wanted, &found);
        difference.missing.sort();
        assert_eq!(difference.missing, wanted.iter().cloned().collect::<Vec<_>>());
        assert_eq!(difference.foreign, found.iter().cloned().collect::<Vec<_>>());
        assert_eq!(super::difference(&wanted, &wanted), Difference::default());
    }
}
