//! Row changes in the notifications of a monitor (`update2` of ovsdb-server(7)).

use serde_json::Value;

use super::row_store::RawRow;
use super::row_uuid::RowUuid;
use super::session::SessionError;
use super::tables::OvsdbTable;
use super::value::Datum;

/// One change of one row.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct RowUpdate {
    pub(super) table: OvsdbTable,
    pub(super) uuid: RowUuid,
    pub(super) change: RowUpdateKind,
}

/// The change of a row.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum RowUpdateKind {
    /// The row exists, with these values and defaults.
    Insert(RawRow),
    /// Values of one element are new; others are differences.
    Modify(RawRow),
    /// The row was deleted.
    Delete,
}

/// Reads the changes of all tables.
pub(super) fn parse_updates(json: &Value) -> Result<Vec<RowUpdate>, SessionError> {
    let mut updates = Vec::new();
    for (name, rows) in json.as_object().ok_or_else(|| malformed("updates are no object"))? {
        let table = OvsdbTable::by_name(name).ok_or_else(|| malformed("an update of an unknown table"))?;
        for (uuid, update) in rows.as_object().ok_or_else(|| malformed("an update is no object"))? {
            let uuid = uuid.parse().map_err(|_| malformed("an update has no UUID"))?;
            updates.push(RowUpdate { table, uuid, change: parse_change(table, update)? });
        }
    }
    Ok(updates)
}

/// Applies a change of a value of several elements.
pub(super) fn apply_difference(value: &mut Datum, difference: Datum) -> Result<(), SessionError> {
    match (value, difference) {
        (Datum::Set(set), Datum::Set(difference)) => {
            for atom in difference {
                if !set.remove(&atom) {
                    set.insert(atom);
                }
            }
        }
        (Datum::Map(map), Datum::Map(difference)) => {
            for (key, new) in difference {
                if map.get(&key) == Some(&new) {
                    map.remove(&key);
                } else {
                    map.insert(key, new);
                }
            }
        }
        _ => return Err(malformed("a difference has another type than the value")),
    }
    Ok(())
}

fn parse_change(table: OvsdbTable, update: &Value) -> Result<RowUpdateKind, SessionError> {
    let members = update.as_object().ok_or_else(|| malformed("an update is no object"))?;
    let mut members = members.iter();
    let (Some((kind, row)), None) = (members.next(), members.next()) else {
        return Err(malformed("an update of a row has not one member"));
    };
    match kind.as_str() {
        "initial" | "insert" => parse_row(table, row).map(RowUpdateKind::Insert),
        "modify" => parse_row(table, row).map(RowUpdateKind::Modify),
        "delete" => Ok(RowUpdateKind::Delete),
        _ => Err(malformed("an update of an unknown kind")),
    }
}

fn parse_row(table: OvsdbTable, row: &Value) -> Result<RawRow, SessionError> {
    let mut values = RawRow::new();
    for (name, json) in row.as_object().ok_or_else(|| malformed("a row is no object"))? {
        let column = table.column(name).ok_or_else(|| malformed("a row has an unknown column"))?;
        let value = Datum::from_json(json).ok_or_else(|| malformed("a value is malformed"))?;
        if !column.kind.admits(&value) {
            return Err(malformed("a value has another type than its column"));
        }
        values.insert(column.name, value);
    }
    Ok(values)
}

fn malformed(reason: &'static str) -> SessionError {
    SessionError::Malformed { reason: reason.to_owned() }
}
