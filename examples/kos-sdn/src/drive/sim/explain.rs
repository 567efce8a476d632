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
        let trace = node.switch.trace(&IncomingFrame { port, tunnel, frame: &frame });
        steps.extend(trace.flows.iter().map(|flow| format!("  {flow}")));
        let outputs: Vec<_> =
            trace.outputs.iter().map(|outputs| output_text(outputs, node.key_at(outputs.port))).collect();
        steps.push(match outputs.is_empty() {
            true => "  dropped".into(),
            false => format!("  goes {}", outputs.join(", and ")),
        });
    }
    steps
}

fn output_text(outputs: &OutgoingFrame, guest: Option<AddressKey>) -> String {
    match (outputs.tunnel, guest) {
        (Some(Tunnel { vni, node }), _) => format!("to {node}, by the tunnel of network {vni}"),
        (None, Some(AddressKey { address, .. })) => format!("to {address}, at port {}", outputs.port),
        (None, None) => format!("out at port {}", outputs.port),
    }
}
