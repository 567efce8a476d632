//! Comparisons of single rows.

use std::collections::BTreeMap;

use super::SwitchSettings;
use crate::drive::FabricError;
use crate::drive::ovs::ovsdb::{BridgeRow, InterfaceRow, PortRow, Rows};

pub(super) fn is_as_desired(settings: &SwitchSettings, bridge: &BridgeRow) -> bool {
    bridge.datapath_type == settings.datapath.name()
        && bridge.fail_mode.as_deref() == Some("secure")
        && bridge.protocols.iter().eq(["OpenFlow15"])
        && bridge.controller.is_empty()
        && bridge.mirrors.is_empty()
}

/// Returns whether a port has no VLAN settings.
pub(super) fn is_plain(port: &PortRow) -> bool {
    port.tag.is_none() && port.trunks.is_empty() && port.vlan_mode.is_none() && port.interfaces.len() == 1
}

pub(super) fn is_marked(marks: &BTreeMap<String, String>, row: &InterfaceRow) -> bool {
    marks.iter().all(|(key, value)| row.external_ids.get(key) == Some(value))
}

pub(super) fn foreign_name(rows: &Rows, names: impl IntoIterator<Item = String>) -> Option<FabricError> {
    let is_used = |name: &String| rows.port(name).is_some() || rows.interface(name).is_some();
    names.into_iter().find(is_used).map(|name| foreign_port(&name))
}

pub(super) fn foreign_port(name: &str) -> FabricError {
    let remedy = format!("rename or delete it (`ovs-vsctl del-port {name}`)");
    FabricError::Foreign { what: format!("a port {name} on another bridge"), remedy }
}

pub(super) fn row_error(row: &InterfaceRow) -> String {
    row.error.clone().unwrap_or_else(|| "Open vSwitch gives no reason; see the log of ovs-vswitchd".into())
}

pub(super) fn not_yet(name: &str) -> FabricError {
    FabricError::Unavailable { reason: format!("it has not created the port {name} yet") }
}
