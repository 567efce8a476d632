//! The interfaces that a switch has.

use std::net::Ipv4Addr;

use super::super::{AddressKey, Flow, Interface, RemoteInterface, remote_cookie};
use super::marks::{PortMark, bridge_marks, read_mark};
use super::{ObservedSwitch, SwitchSettings};
use crate::drive::InterfaceBook;
use crate::model::Vni;

/// Rebuilds the interfaces of a switch: local ones from the marks of ports, remote ones from their
/// flows. Names and other texts have no meaning.
#[must_use]
pub fn rebuilt_interfaces(
    settings: &SwitchSettings,
    observed: &ObservedSwitch,
    limit: usize,
) -> InterfaceBook {
    let mut book = InterfaceBook::new(limit);
    let rows = &observed.rows;
    let marks = bridge_marks(&settings.node);
    let Some(bridge) = rows.bridge(&settings.bridge) else { return book };
    if marks.iter().any(|(key, value)| bridge.external_ids.get(key) != Some(value)) {
        return book;
    }
    let marked = rows.ports_of(bridge).flat_map(|port| rows.interfaces_of(port));
    for row in marked {
        if let Some(PortMark::Interface(local)) = read_mark(&settings.node, &row.external_ids) {
            // Of two ports of an address, the plan deletes the second.
            let _ = book.add_local(&local);
        }
    }
    for flow in observed.flows.iter().flat_map(|(_, flows)| flows) {
        if let Some(remote) = remote_of(flow) {
            let key = AddressKey { vni: remote.vni, address: remote.address };
            if book.get(&key).is_none() {
                let _ = book.add(Interface::Remote(remote));
            }
        }
    }
    book
}

/// Reads a remote interface from the flow that accepts its packets.
fn remote_of(flow: &Flow) -> Option<RemoteInterface> {
    let matches = &flow.matches;
    let (vni, host): (Vni, Ipv4Addr) = (Vni::new(matches.tun_id?).ok()?, matches.tun_src?);
    let remote = RemoteInterface::new(vni, matches.nw_src?, host);
    (flow.cookie == remote_cookie(remote.mac)).then_some(remote)
}
