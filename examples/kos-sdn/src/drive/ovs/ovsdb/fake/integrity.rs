//! Checks at the commit of a transaction: references and unique names.

use std::collections::BTreeSet;

use crate::drive::ovs::ovsdb::error::TransactError;
use crate::drive::ovs::ovsdb::row_store::RowStore;
use crate::drive::ovs::ovsdb::row_uuid::RowUuid;
use crate::drive::ovs::ovsdb::tables::OvsdbTable;

/// Deletes rows without a reference, then checks that references have rows and names are unique.
pub(super) fn check_references(store: &mut RowStore) -> Result<(), TransactError> {
    let rows = store.rows();
    let bridges: BTreeSet<_> = rows.roots.values().flat_map(|root| root.bridges.iter().copied()).collect();
    let ports = referenced(&bridges, |uuid| rows.bridges.get(uuid).map(|bridge| &bridge.ports))?;
    let interfaces = referenced(&ports, |uuid| rows.ports.get(uuid).map(|port| &port.interfaces))?;
    if let Some(missing) = interfaces.iter().find(|uuid| !rows.interfaces.contains_key(uuid)) {
        return Err(missing_row(*missing));
    }
    for (table, kept) in
        [(OvsdbTable::Bridge, &bridges), (OvsdbTable::Port, &ports), (OvsdbTable::Interface, &interfaces)]
    {
        unreferenced(store, table, kept).into_iter().for_each(|uuid| store.put(table, uuid, None));
    }
    let rows = store.rows();
    if let Some(port) = rows.ports.values().find(|port| port.interfaces.is_empty()) {
        return Err(violation(format!("port {} has no interface", port.name)));
    }
    unique(rows.bridges.values().map(|row| row.name.as_str()))?;
    unique(rows.ports.values().map(|row| row.name.as_str()))?;
    unique(rows.interfaces.values().map(|row| row.name.as_str()))
}

fn referenced<'a>(
    from: &BTreeSet<RowUuid>,
    references: impl Fn(&RowUuid) -> Option<&'a BTreeSet<RowUuid>>,
) -> Result<BTreeSet<RowUuid>, TransactError> {
    let mut all = BTreeSet::new();
    for uuid in from {
        all.extend(references(uuid).ok_or_else(|| missing_row(*uuid))?.iter().copied());
    }
    Ok(all)
}

fn unreferenced(store: &RowStore, table: OvsdbTable, kept: &BTreeSet<RowUuid>) -> Vec<RowUuid> {
    store.table(table).map(|(uuid, _)| uuid).filter(|uuid| !kept.contains(uuid)).collect()
}

fn unique<'a>(names: impl Iterator<Item = &'a str>) -> Result<(), TransactError> {
    let mut known = BTreeSet::new();
    for name in names {
        if !known.insert(name) {
            return Err(violation(format!("two rows have the name {name}")));
        }
    }
    Ok(())
}

fn missing_row(uuid: RowUuid) -> TransactError {
    let error = "referential integrity violation".to_owned();
    TransactError::Refused { operation: None, error, details: format!("there is no row {uuid}") }
}

fn violation(details: String) -> TransactError {
    TransactError::Refused { operation: None, error: "constraint violation".to_owned(), details }
}
