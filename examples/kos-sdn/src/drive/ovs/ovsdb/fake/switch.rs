//! A simple ovs-vswitchd: it numbers ports and follows `next_cfg`.

use std::collections::{BTreeMap, BTreeSet};

use crate::drive::ovs::ovsdb::row_store::{RawRow, RowStore};
use crate::drive::ovs::ovsdb::row_uuid::RowUuid;
use crate::drive::ovs::ovsdb::rows::{BridgeRow, InterfaceRow, Rows};
use crate::drive::ovs::ovsdb::tables::OvsdbTable;
use crate::drive::ovs::ovsdb::value::Datum;

/// The number of a bridge's own port.
const LOCAL_PORT: i64 = 65534;

/// The simulated ovs-vswitchd.
#[derive(Debug)]
pub(super) struct FakeVswitchd {
    running: bool,
    refused: BTreeMap<String, String>,
    /// Interfaces that were created or failed, with the settings tried. A failed one is tried again
    /// when its settings change.
    tried: BTreeMap<RowUuid, (String, BTreeMap<String, String>)>,
    next_ifindex: i64,
}

impl Default for FakeVswitchd {
    fn default() -> Self {
        Self { running: true, refused: BTreeMap::new(), tried: BTreeMap::new(), next_ifindex: 1 }
    }
}

impl FakeVswitchd {
    pub(super) fn refuse(&mut self, name: &str, error: &str) {
        self.refused.insert(name.to_owned(), error.to_owned());
    }

    pub(super) fn accept(&mut self, name: &str) {
        self.refused.remove(name);
    }

    pub(super) fn stop(&mut self) {
        self.running = false;
    }

    pub(super) fn start(&mut self, store: &mut RowStore) {
        self.running = true;
        self.forget();
        self.apply(store);
    }

    /// Forgets all devices.
    pub(super) fn forget(&mut self) {
        self.tried.clear();
    }

    /// Applies the rows, if running.
    pub(super) fn apply(&mut self, store: &mut RowStore) {
        if !self.running {
            return;
        }
        let rows = store.rows();
        self.tried.retain(|uuid, _| rows.interfaces.contains_key(uuid));
        for bridge in rows.bridges.values() {
            if bridge.datapath_id.is_none() {
                let id = format!("{:016x}", 0x1000 + self.next_ifindex);
                set(store, OvsdbTable::Bridge, bridge.uuid, [("datapath_id", Datum::from(id))]);
            }
            let interfaces = rows.ports_of(bridge).flat_map(|port| rows.interfaces_of(port));
            for interface in interfaces {
                let settings = (interface.kind.clone(), interface.options.clone());
                if self.tried.get(&interface.uuid) != Some(&settings) {
                    self.create(store, bridge, interface);
                    self.tried.insert(interface.uuid, settings);
                }
            }
        }
        let Some(root) = rows.root() else { return };
        if root.iface_types.is_empty() {
            let types = [
                ("datapath_types", Datum::set(["netdev", "system"])),
                ("iface_types", Datum::set(["internal", "system", "vxlan"])),
                ("ovs_version", Datum::from("3.1.0")),
            ];
            set(store, OvsdbTable::Root, root.uuid, types);
        }
        if root.cur_cfg != root.next_cfg {
            set(store, OvsdbTable::Root, root.uuid, [("cur_cfg", Datum::from(root.next_cfg))]);
        }
    }

    fn create(&mut self, store: &mut RowStore, bridge: &BridgeRow, interface: &InterfaceRow) {
        let rows = store.rows();
        let error = self.refused.get(&interface.name).cloned().or_else(|| {
            let text = format!("could not add network device {} to ofproto (File exists)", interface.name);
            has_twin(&rows, interface).then_some(text)
        });
        if let Some(error) = error {
            let failed = [
                ("ofport", Datum::from(-1)),
                ("error", Datum::from(error)),
                ("ifindex", Datum::empty()),
                ("mac_in_use", Datum::empty()),
            ];
            return set(store, OvsdbTable::Interface, interface.uuid, failed);
        }
        let ofport = port_number(&rows, bridge, interface);
        let ifindex = if interface.kind == "internal" { self.next_ifindex } else { 0 };
        self.next_ifindex += 1;
        let created = [
            ("ofport", Datum::from(ofport)),
            ("error", Datum::empty()),
            ("ifindex", Datum::from(ifindex)),
            (
                "mac_in_use",
                Datum::from(format!("02:00:00:00:{:02x}:{:02x}", ifindex >> 8 & 255, ifindex & 255)),
            ),
            ("mtu", Datum::from(1500)),
        ];
        set(store, OvsdbTable::Interface, interface.uuid, created);
    }
}

/// A second tunnel with the same options, on any bridge, cannot be created.
fn has_twin(rows: &Rows, interface: &InterfaceRow) -> bool {
    let twin = |other: &InterfaceRow| {
        other.uuid != interface.uuid
            && other.kind == interface.kind
            && other.options == interface.options
            && other.ofport.is_some_and(|number| number > 0)
    };
    interface.kind == "vxlan" && rows.interfaces.values().any(|other| twin(other))
}

/// Keeps the number, or takes the requested one, or the lowest free one: numbers are reused.
fn port_number(rows: &Rows, bridge: &BridgeRow, interface: &InterfaceRow) -> i64 {
    if interface.name == bridge.name {
        return LOCAL_PORT;
    }
    let others = rows.ports_of(bridge).flat_map(|port| rows.interfaces_of(port));
    let taken: BTreeSet<_> =
        others.filter(|other| other.uuid != interface.uuid).filter_map(|other| other.ofport).collect();
    let kept = interface.ofport.filter(|number| *number > 0);
    let wanted = interface.ofport_request.or(kept).filter(|number| !taken.contains(number));
    wanted.or_else(|| (1..LOCAL_PORT).find(|number| !taken.contains(number))).unwrap_or(-1)
}

fn set<const N: usize>(
    store: &mut RowStore,
    table: OvsdbTable,
    uuid: RowUuid,
    values: [(&'static str, Datum); N],
) {
    let mut row: RawRow = store.row(table, uuid).cloned().unwrap_or_default();
    row.extend(values);
    store.put(table, uuid, Some(row));
}
