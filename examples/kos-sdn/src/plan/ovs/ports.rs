//! The differences of the bridge, its tunnel port and the ports of interfaces.

use std::collections::{BTreeMap, BTreeSet};

use super::super::{AddressKey, Interface, LocalInterface, Mac, Port, interface_name};
use super::marks::{PortMark, bridge_marks, interface_marks, read_mark, tunnel_marks};
use super::row_checks::{foreign_name, foreign_port, is_as_desired, is_marked, is_plain, not_yet, row_error};
use super::{Attempts, ObservedSwitch, RowChange, Scope, SwitchSettings};
use crate::drive::ovs::ovsdb::{BridgeRow, InterfaceRow, PortRow, RowUuid};
use crate::drive::{FabricError, InterfaceBook};

/// The differences of rows, and the ports that are ready.
#[derive(Debug, Default)]
pub(super) struct PortPlan {
    pub(super) changes: Vec<RowChange>,
    /// OpenFlow ports of local interfaces.
    pub(super) numbers: BTreeMap<AddressKey, Port>,
    pub(super) tunnel: Option<Port>,
    pub(super) broken: BTreeMap<AddressKey, FabricError>,
    /// Rows of the ports in `numbers`: bridge and port.
    pub(super) rows: BTreeMap<AddressKey, (RowUuid, RowUuid)>,
    /// The reason why the bridge cannot be used.
    pub(super) fault: Option<FabricError>,
}

type PortRows<'a> = (&'a PortRow, Option<&'a InterfaceRow>);

/// Compares the rows with the desired interfaces.
pub(super) fn plan_ports(
    settings: &SwitchSettings,
    desired: &InterfaceBook,
    observed: &ObservedSwitch,
    (scope, attempts): (&Scope, &Attempts),
) -> PortPlan {
    let mut plan = PortPlan::default();
    let rows = &*observed.rows;
    if rows.root().is_none() {
        plan.changes.push(RowChange::CreateRoot);
        return plan;
    }
    let Some(bridge) = rows.bridge(&settings.bridge) else {
        match foreign_name(rows, [settings.bridge.clone(), settings.tunnel_port()]) {
            Some(error) => plan.fault = Some(error),
            None => plan.changes.push(RowChange::CreateBridge),
        }
        return plan;
    };
    let marks = bridge_marks(&settings.node);
    if marks.iter().any(|(key, value)| bridge.external_ids.get(key) != Some(value)) {
        plan.fault = Some(FabricError::Foreign {
            what: format!("the bridge {}", bridge.name),
            remedy: format!(
                "delete it (`ovs-vsctl del-br {}`), or choose another with --bridge",
                bridge.name
            ),
        });
        return plan;
    }
    if !is_as_desired(settings, bridge) {
        plan.changes.push(RowChange::UpdateBridge(bridge.uuid));
    }
    if observed.ports.is_none() {
        // Wrong settings can prevent the connection. Otherwise nothing is written for a switch that
        // would not apply it.
        if plan.changes.is_empty() {
            let reason = format!("there is no OpenFlow connection to the bridge {}", bridge.name);
            plan.fault = Some(FabricError::Unavailable { reason });
        }
        return plan;
    }
    let ports: BTreeMap<&str, PortRows<'_>> = rows
        .ports_of(bridge)
        .map(|port| (&*port.name, (&**port, rows.interfaces_of(port).next().map(|row| &**row))))
        .collect();
    if !ports.contains_key(&*bridge.name) {
        plan.changes.push(RowChange::CreateLocalPort(bridge.uuid));
    }
    let view = BridgeView { settings, observed, attempts, bridge, ports };
    view.tunnel(desired, scope, &mut plan);
    view.locals(desired, scope, &mut plan);
    view.undesired(desired, scope, &mut plan);
    plan
}

/// Returns an error if the mark of an interface would not be read as its own: its port would be
/// taken for another's, and be created and deleted without end.
fn unreadable_mark(node: &str, local: &LocalInterface) -> Option<FabricError> {
    let mark = PortMark::Interface(local.clone());
    (read_mark(node, &interface_marks(node, local)) != Some(mark)).then(|| FabricError::Refused {
        what: format!("the port {}", local.name),
        reason: "the key of its attachment is malformed".into(),
    })
}

struct BridgeView<'a> {
    settings: &'a SwitchSettings,
    observed: &'a ObservedSwitch,
    attempts: &'a Attempts,
    bridge: &'a BridgeRow,
    ports: BTreeMap<&'a str, PortRows<'a>>,
}

impl BridgeView<'_> {
    fn tunnel(&self, desired: &InterfaceBook, scope: &Scope, plan: &mut PortPlan) {
        let (name, bridge) = (self.settings.tunnel_port(), self.bridge.uuid);
        let error = match self.ports.get(&*name) {
            None => match foreign_name(&self.observed.rows, [name]) {
                Some(error) => error,
                None => return plan.changes.push(RowChange::CreateTunnel(bridge)),
            },
            Some((port, None)) => return plan.changes.push(self.deletion(port, None)),
            Some((port, Some(row))) => {
                let is_right = row.kind == "vxlan"
                    && row.options == self.settings.tunnel_options()
                    && is_marked(&tunnel_marks(&self.settings.node), row)
                    && is_plain(port);
                if !is_right {
                    return plan.changes.push(RowChange::UpdateTunnel(port.uuid, row.uuid));
                }
                if row.ofport.is_some_and(|number| number < 0) {
                    if self.attempts.permits(&name) {
                        return plan.changes.push(self.deletion(port, None));
                    }
                    FabricError::Refused {
                        what: format!("the tunnel port {name}"),
                        reason: format!("{}; has another bridge a VXLAN port?", row_error(row)),
                    }
                } else if let Some(number) = self.number(&name) {
                    plan.tunnel = Some(number);
                    return;
                } else {
                    not_yet(&name)
                }
            }
        };
        let is_remote = |interface: &Interface| matches!(interface, Interface::Remote(_));
        for (key, _) in covered(desired, scope, self.attempts).filter(|(_, interface)| is_remote(interface)) {
            plan.broken.insert(*key, error.clone());
        }
    }

    fn locals(&self, desired: &InterfaceBook, scope: &Scope, plan: &mut PortPlan) {
        let mut elsewhere = None;
        for (key, interface) in covered(desired, scope, self.attempts) {
            let Interface::Local(local) = interface else { continue };
            let name = &*local.name;
            let Some((port, row)) = self.ports.get(name) else {
                let elsewhere = elsewhere.get_or_insert_with(|| self.names_elsewhere());
                let error = match elsewhere.contains(name) {
                    true => Some(foreign_port(name)),
                    false => unreadable_mark(&self.settings.node, local),
                };
                match error {
                    Some(error) => drop(plan.broken.insert(*key, error)),
                    None => plan.changes.push(RowChange::CreatePort(self.bridge.uuid, local.clone())),
                }
                continue;
            };
            let node = &self.settings.node;
            let is_its = |row: &&InterfaceRow| {
                row.name == name
                    && row.kind == "internal"
                    && port.interfaces.len() == 1
                    && read_mark(node, &row.external_ids).as_ref()
                        == Some(&PortMark::Interface(local.clone()))
            };
            let Some(row) = row.filter(is_its) else {
                plan.changes.push(self.deletion(port, Some(*key)));
                continue;
            };
            if row.ofport.is_some_and(|number| number < 0) {
                if self.attempts.permits(name) {
                    plan.changes.push(self.deletion(port, Some(*key)));
                } else {
                    let what = format!("the port {name}");
                    plan.broken.insert(*key, FabricError::Refused { what, reason: row_error(row) });
                }
                continue;
            }
            let is_right = is_plain(port)
                && row.options.is_empty()
                && (&row.mac, row.mtu_request, row.ofport_request) == (&None, None, None)
                && is_marked(&interface_marks(node, local), row);
            if !is_right {
                plan.changes.push(RowChange::UpdatePort(port.uuid, row.uuid, local.clone()));
            }
            match self.number(name) {
                Some(number) => {
                    plan.numbers.insert(*key, number);
                    plan.rows.insert(*key, (self.bridge.uuid, port.uuid));
                }
                None => drop(plan.broken.insert(*key, not_yet(name))),
            }
        }
    }

    /// Deletes ports of the bridge that are no interface's.
    fn undesired(&self, desired: &InterfaceBook, scope: &Scope, plan: &mut PortPlan) {
        match scope {
            Scope::All => {
                for (name, (port, row)) in &self.ports {
                    self.delete_undesired(desired, (*name, port, *row), plan);
                }
            }
            Scope::Some { keys, .. } => {
                for key in keys {
                    let name = interface_name(Mac::of(key.vni, key.address));
                    if let Some((port, row)) = self.ports.get(&*name) {
                        self.delete_undesired(desired, (&name, port, *row), plan);
                    }
                }
            }
        }
    }

    fn delete_undesired(
        &self,
        desired: &InterfaceBook,
        (name, port, row): (&str, &PortRow, Option<&InterfaceRow>),
        plan: &mut PortPlan,
    ) {
        if name == self.bridge.name || name == self.settings.tunnel_port() {
            return;
        }
        let key = match row.and_then(|row| read_mark(&self.settings.node, &row.external_ids)) {
            Some(PortMark::Interface(local)) => Some(key_of(&local)),
            Some(PortMark::Tunnel) | None => None,
        };
        let is_held = match key.and_then(|key| desired.get(&key)) {
            Some(Interface::Local(local)) => local.name == name,
            _ => key.is_none() && self.is_name_of_a_local(desired, name),
        };
        let has_failed = key.is_some_and(|key| self.attempts.failed.contains(&key));
        if !is_held && !has_failed {
            plan.changes.push(self.deletion(port, key));
        }
    }

    /// A port with the name of an interface but without its mark is handled with the interface.
    fn is_name_of_a_local(&self, desired: &InterfaceBook, name: &str) -> bool {
        desired.local_interfaces().any(|local| local.name == name)
    }

    fn deletion(&self, port: &PortRow, key: Option<AddressKey>) -> RowChange {
        RowChange::DeletePort { bridge: self.bridge.uuid, port: port.uuid, name: port.name.clone(), key }
    }

    fn number(&self, name: &str) -> Option<Port> {
        self.observed.ports.as_ref()?.get(name).copied()
    }

    fn names_elsewhere(&self) -> BTreeSet<&str> {
        let rows = &self.observed.rows;
        let ports = rows.ports.values().map(|port| &*port.name);
        let interfaces = rows.interfaces.values().map(|row| &*row.name);
        ports.chain(interfaces).filter(|name| !self.ports.contains_key(name)).collect()
    }
}

/// Iterates over the desired interfaces of a scope without those that failed.
pub(super) fn covered<'a>(
    desired: &'a InterfaceBook,
    scope: &'a Scope,
    attempts: &'a Attempts,
) -> Box<dyn Iterator<Item = (&'a AddressKey, &'a Interface)> + 'a> {
    let is_left = |(key, _): &(&AddressKey, &Interface)| !attempts.failed.contains(key);
    match scope {
        Scope::All => Box::new(desired.iter().filter(is_left)),
        Scope::Some { keys, .. } => {
            Box::new(keys.iter().filter_map(|key| Some((key, desired.get(key)?))).filter(is_left))
        }
    }
}

pub(super) const fn key_of(local: &LocalInterface) -> AddressKey {
    AddressKey { vni: local.vni, address: local.address }
}
