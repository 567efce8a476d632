//! What a node does with a frame, told flow by flow.

use super::guest::Guest;
use super::node::{Node, TUNNELS};
use crate::drive::{Arrival, Departure, Tunnel, Way};
use crate::plan::{AddressKey, Local, Mac};

/// Follows the two frames that begin each exchange: who has the address, and a packet for it.
pub(super) fn explain(node: &Node, way: &Way) -> Vec<String> {
    let Way { from, to, host } = *way;
    let arrives = match host {
        Some(host) => Some((TUNNELS, Some(Tunnel { vni: from.vni, node: host }))),
        None => node.port(&from).map(|port| (port, None)),
    };
    let Some((port, tunnel)) = arrives else {
        return vec![format!("{} of network {} has no interface here", from.address, from.vni)];
    };
    let guest = Guest::of(&Local::new(from.vni, from.address));
    let packet = guest.pings_to(Mac::of(from.vni, to), to);
    let mut steps = Vec::new();
    for (what, frame) in [("who has it (ARP)", Some(guest.asks(to))), ("a packet (ICMP)", packet)] {
        let Some(frame) = frame else { continue };
        let whence = match tunnel {
            Some(Tunnel { vni, node }) => format!("from {node} by the tunnel of network {vni}"),
            None => format!("from {} at port {port}", from.address),
        };
        steps.push(format!("{what} for {to}, {whence}:"));
        let followed = node.switch.follow(&Arrival { port, tunnel, frame: &frame });
        steps.extend(followed.flows.iter().map(|flow| format!("  {flow}")));
        let leaves: Vec<_> =
            followed.leaves.iter().map(|leaves| where_to(leaves, node.who(leaves.port))).collect();
        steps.push(match leaves.is_empty() {
            true => "  dropped".into(),
            false => format!("  goes {}", leaves.join(", and ")),
        });
    }
    steps
}

fn where_to(leaves: &Departure, who: Option<AddressKey>) -> String {
    match (leaves.tunnel, who) {
        (Some(Tunnel { vni, node }), _) => format!("to {node}, by the tunnel of network {vni}"),
        (None, Some(AddressKey { address, .. })) => format!("to {address}, at port {}", leaves.port),
        (None, None) => format!("out at port {}", leaves.port),
    }
}
