//! Row changes as one transaction.

use std::collections::BTreeMap;

use super::super::LocalInterface;
use super::marks::{bridge_marks, interface_marks, tunnel_marks};
use super::{RowChange, SwitchSettings};
use crate::drive::ovs::ovsdb::{
    Condition, Datum, Mutation, OvsdbTable, RowOperation, RowUuid, RowValues, Transaction,
};

/// Returns a transaction of row changes, which ovs-vswitchd then applies together.
///
/// The only texts of users in it are values of `external_ids`, each of them one JSON string.
#[must_use]
pub fn transaction(settings: &SwitchSettings, changes: &[RowChange]) -> Transaction {
    let mut transaction = Transaction::new();
    for (number, change) in changes.iter().enumerate() {
        add(settings, &mut transaction, (number, change));
    }
    transaction.with_next_cfg()
}

fn add(settings: &SwitchSettings, to: &mut Transaction, (number, change): (usize, &RowChange)) {
    match change {
        RowChange::CreateRoot => {
            to.push(RowOperation::Insert { table: OvsdbTable::Root, name: None, row: RowValues::new() })
        }
        RowChange::CreateBridge => {
            let ports = [
                insert_port(to, number, &settings.bridge, internal()),
                insert_port(to, number, &settings.tunnel_port(), tunnel(settings)),
            ];
            let row = bridge(settings)
                .with("name", settings.bridge.as_str())
                .with("ports", Datum::Set(ports.iter().flat_map(Datum::atoms).cloned().collect()));
            let bridge = to.insert(OvsdbTable::Bridge, format!("bridge{number}"), row);
            to.push(RowOperation::Mutate {
                table: OvsdbTable::Root,
                conditions: Vec::new(),
                mutations: vec![Mutation::insert("bridges", bridge)],
            });
        }
        RowChange::UpdateBridge(uuid) => to.update(OvsdbTable::Bridge, *uuid, bridge(settings)),
        RowChange::CreateLocalPort(uuid) => {
            let port = insert_port(to, number, &settings.bridge, internal());
            change_ports(to, *uuid, Mutation::insert("ports", port));
        }
        RowChange::CreateTunnel(uuid) => {
            let port = insert_port(to, number, &settings.tunnel_port(), tunnel(settings));
            change_ports(to, *uuid, Mutation::insert("ports", port));
        }
        RowChange::UpdateTunnel(port, interface) => {
            to.update(OvsdbTable::Port, *port, plain().with("interfaces", *interface));
            to.update(OvsdbTable::Interface, *interface, tunnel(settings));
        }
        RowChange::CreatePort(uuid, local) => {
            let port = insert_port(to, number, &local.name, interface(settings, local));
            change_ports(to, *uuid, Mutation::insert("ports", port));
        }
        RowChange::UpdatePort(port, row, local) => {
            to.update(OvsdbTable::Port, *port, plain());
            to.update(OvsdbTable::Interface, *row, interface(settings, local));
        }
        RowChange::DeletePort { bridge, port, .. } => {
            change_ports(to, *bridge, Mutation::delete("ports", *port));
        }
    }
}

fn change_ports(to: &mut Transaction, bridge: RowUuid, mutation: Mutation) {
    to.push(RowOperation::Mutate {
        table: OvsdbTable::Bridge,
        conditions: vec![Condition::uuid(bridge)],
        mutations: vec![mutation],
    });
}

/// Inserts a port with one interface, and returns the reference to it.
fn insert_port(to: &mut Transaction, number: usize, name: &str, interface: RowValues) -> Datum {
    let at = to.operations().len();
    let interface =
        to.insert(OvsdbTable::Interface, format!("interface{number}_{at}"), interface.with("name", name));
    let port = RowValues::new().with("name", name).with("interfaces", interface);
    to.insert(OvsdbTable::Port, format!("port{number}_{at}"), port)
}

fn bridge(settings: &SwitchSettings) -> RowValues {
    RowValues::new()
        .with("datapath_type", settings.datapath.name())
        .with("fail_mode", "secure")
        .with("protocols", "OpenFlow15")
        .with("controller", Datum::empty())
        .with("mirrors", Datum::empty())
        .with("external_ids", map(bridge_marks(&settings.node)))
}

fn tunnel(settings: &SwitchSettings) -> RowValues {
    RowValues::new()
        .with("type", "vxlan")
        .with("options", map(settings.tunnel_options()))
        .with("external_ids", map(tunnel_marks(&settings.node)))
}

fn interface(settings: &SwitchSettings, local: &LocalInterface) -> RowValues {
    internal()
        .with("options", Datum::Map(BTreeMap::new()))
        .with("mac", Datum::empty())
        .with("mtu_request", Datum::empty())
        .with("ofport_request", Datum::empty())
        .with("external_ids", map(interface_marks(&settings.node, local)))
}

fn internal() -> RowValues {
    RowValues::new().with("type", "internal")
}

/// Returns a port without VLAN settings.
fn plain() -> RowValues {
    RowValues::new()
        .with("tag", Datum::empty())
        .with("trunks", Datum::empty())
        .with("vlan_mode", Datum::empty())
}

fn map(pairs: BTreeMap<String, String>) -> Datum {
    Datum::map(pairs)
}
