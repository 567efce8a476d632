//! Rows by column, with the typed rows made from them.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use super::row_uuid::RowUuid;
use super::rows::{BridgeRow, InterfaceRow, PortRow, RootRow, Rows};
use super::tables::OvsdbTable;
use super::value::{Atom, Datum};

/// The values of a row. Columns with their default value may be absent.
pub(super) type RawRow = BTreeMap<&'static str, Datum>;

/// Rows as values of columns, and typed.
#[derive(Clone, Debug, Default)]
pub(super) struct RowStore {
    raw: BTreeMap<OvsdbTable, BTreeMap<RowUuid, RawRow>>,
    rows: Arc<Rows>,
}

impl RowStore {
    /// Returns the typed rows. They are copied only if they change while a caller keeps them.
    pub(super) fn rows(&self) -> Arc<Rows> {
        self.rows.clone()
    }

    /// Returns the number of rows.
    pub(super) fn len(&self) -> usize {
        self.raw.values().map(BTreeMap::len).sum()
    }

    /// Returns the values of a row.
    pub(super) fn row(&self, table: OvsdbTable, uuid: RowUuid) -> Option<&RawRow> {
        self.raw.get(&table)?.get(&uuid)
    }

    /// Returns all rows of a table.
    pub(super) fn table(&self, table: OvsdbTable) -> impl Iterator<Item = (RowUuid, &RawRow)> {
        self.raw.get(&table).into_iter().flatten().map(|(uuid, row)| (*uuid, row))
    }

    /// Inserts, replaces or removes a row. Values must be of the types of their columns.
    pub(super) fn put(&mut self, table: OvsdbTable, uuid: RowUuid, row: Option<RawRow>) {
        let rows = Arc::make_mut(&mut self.rows);
        match (table, &row) {
            (OvsdbTable::Root, Some(row)) => drop(rows.roots.insert(uuid, Arc::new(root(uuid, row)))),
            (OvsdbTable::Root, None) => drop(rows.roots.remove(&uuid)),
            (OvsdbTable::Bridge, Some(row)) => drop(rows.bridges.insert(uuid, Arc::new(bridge(uuid, row)))),
            (OvsdbTable::Bridge, None) => drop(rows.bridges.remove(&uuid)),
            (OvsdbTable::Port, Some(row)) => drop(rows.ports.insert(uuid, Arc::new(port(uuid, row)))),
            (OvsdbTable::Port, None) => drop(rows.ports.remove(&uuid)),
            (OvsdbTable::Interface, Some(row)) => {
                drop(rows.interfaces.insert(uuid, Arc::new(interface(uuid, row))))
            }
            (OvsdbTable::Interface, None) => drop(rows.interfaces.remove(&uuid)),
        }
        let table = self.raw.entry(table).or_default();
        match row {
            Some(row) => drop(table.insert(uuid, row)),
            None => drop(table.remove(&uuid)),
        }
    }
}

fn root(uuid: RowUuid, row: &RawRow) -> RootRow {
    RootRow {
        uuid,
        bridges: uuids(row, "bridges"),
        next_cfg: integer(row, "next_cfg").unwrap_or(0),
        cur_cfg: integer(row, "cur_cfg").unwrap_or(0),
        ovs_version: string(row, "ovs_version"),
        datapath_types: strings(row, "datapath_types"),
        iface_types: strings(row, "iface_types"),
        external_ids: map(row, "external_ids"),
    }
}

fn bridge(uuid: RowUuid, row: &RawRow) -> BridgeRow {
    BridgeRow {
        uuid,
        name: string(row, "name").unwrap_or_default(),
        datapath_type: string(row, "datapath_type").unwrap_or_default(),
        datapath_id: string(row, "datapath_id"),
        ports: uuids(row, "ports"),
        mirrors: uuids(row, "mirrors"),
        controller: uuids(row, "controller"),
        protocols: strings(row, "protocols"),
        fail_mode: string(row, "fail_mode"),
        other_config: map(row, "other_config"),
        external_ids: map(row, "external_ids"),
    }
}

fn port(uuid: RowUuid, row: &RawRow) -> PortRow {
    PortRow {
        uuid,
        name: string(row, "name").unwrap_or_default(),
        interfaces: uuids(row, "interfaces"),
        tag: integer(row, "tag"),
        trunks: integers(row, "trunks"),
        vlan_mode: string(row, "vlan_mode"),
        other_config: map(row, "other_config"),
        external_ids: map(row, "external_ids"),
    }
}

fn interface(uuid: RowUuid, row: &RawRow) -> InterfaceRow {
    InterfaceRow {
        uuid,
        name: string(row, "name").unwrap_or_default(),
        kind: string(row, "type").unwrap_or_default(),
        options: map(row, "options"),
        ofport: integer(row, "ofport"),
        ofport_request: integer(row, "ofport_request"),
        ifindex: integer(row, "ifindex"),
        error: string(row, "error"),
        mac: string(row, "mac"),
        mac_in_use: string(row, "mac_in_use"),
        mtu: integer(row, "mtu"),
        mtu_request: integer(row, "mtu_request"),
        other_config: map(row, "other_config"),
        external_ids: map(row, "external_ids"),
    }
}

fn atoms<'a>(row: &'a RawRow, column: &str) -> impl Iterator<Item = &'a Atom> {
    row.get(column).into_iter().flat_map(Datum::atoms)
}

fn string(row: &RawRow, column: &str) -> Option<String> {
    strings(row, column).pop_first()
}

fn strings(row: &RawRow, column: &str) -> BTreeSet<String> {
    let text = |atom: &Atom| if let Atom::String(text) = atom { Some(text.clone()) } else { None };
    atoms(row, column).filter_map(text).collect()
}

fn integer(row: &RawRow, column: &str) -> Option<i64> {
    integers(row, column).pop_first()
}

fn integers(row: &RawRow, column: &str) -> BTreeSet<i64> {
    let number = |atom: &Atom| if let Atom::Integer(number) = atom { Some(*number) } else { None };
    atoms(row, column).filter_map(number).collect()
}

fn uuids(row: &RawRow, column: &str) -> BTreeSet<RowUuid> {
    let uuid = |atom: &Atom| if let Atom::Uuid(uuid) = atom { Some(*uuid) } else { None };
    atoms(row, column).filter_map(uuid).collect()
}

fn map(row: &RawRow, column: &str) -> BTreeMap<String, String> {
    let Some(Datum::Map(pairs)) = row.get(column) else { return BTreeMap::new() };
    let text = |(key, value): (&Atom, &Atom)| match (key, value) {
        (Atom::String(key), Atom::String(value)) => Some((key.clone(), value.clone())),
        _ => None,
    };
    pairs.iter().filter_map(text).collect()
}
