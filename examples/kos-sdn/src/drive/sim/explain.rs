//! Traces of frames through a simulated node, as text.

use super::guest::Guest;
use super::node::{SimNode, TUNNELS};
use crate::drive::{FramePath, IncomingFrame, OutgoingFrame, Tunnel};
use crate::plan::{AddressKey, LocalInterface, Mac};

/// Traces the first two frames of an exchange: the ARP request, and the packet.
pub(super) fn explain(node: &SimNode, path: &FramePath) -> Vec<String> {
    let FramePath { from, to, host } = *path;
    let arrives = match host {
        Some(host) => Some((TUNNELS, Some(Tunnel { vni: from.vni, node: host }))),
        None => node.port(&from).map(|port| (port, None)),
    };
    let Some((port, tunnel)) = arrives else {
        return vec![format!("{} of network {} has no interface here", from.address, from.vni)];
    };
    let guest = Guest::of(&LocalInterface::new(from.vni, from.address));
    let packet = guest.echo_request_to(Mac::of(from.vni, to), to);
    let mut steps = Vec::new();
    for (what, frame) in [("ARP request", Some(guest.arp_request(to))), ("ICMP packet", packet)] {
        let Some(frame) = frame else { continue };
        let origin = match tunnel {
            Some(Tunnel { vni, node }) => format!("from {node} by the tunnel of network {vni}"),
            None => format!("from {} at port {port}", from.address),
        };
        steps.push(format!("{what} for {to}, {origin}:"));
        let followed = node.switch.follow(&IncomingFrame { port, tunnel, frame: &frame });
        steps.extend(followed.flows.iter().map(|flow| format!("  {flow}")));
        let leaves: Vec<_> =
            followed.leaves.iter().map(|leaves| output_text(leaves, node.key_at(leaves.port))).collect();
        steps.push(match leaves.is_empty() {
            true => "  dropped".into(),
            false => format!("  goes {}", leaves.join(", and ")),
        });
    }
    steps
}

fn output_text(leaves: &OutgoingFrame, guest: Option<AddressKey>) -> String {
    match (leaves.tunnel, guest) {
        (Some(Tunnel { vni, node }), _) => format!("to {node}, by the tunnel of network {vni}"),
        (None, Some(AddressKey { address, .. })) => format!("to {address}, at port {}", leaves.port),
        (None, None) => format!("out at port {}", leaves.port),
    }
}
