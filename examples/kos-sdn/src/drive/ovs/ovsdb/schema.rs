//! The check that a database has the columns the client needs.

use serde_json::{Map, Value, json};

use super::session::SessionError;
use super::tables::{ColumnKind, OvsdbTable};

/// Checks the schema of a server.
pub(super) fn check_schema(schema: &Value) -> Result<(), SessionError> {
    for table in OvsdbTable::ALL {
        for column in table.columns() {
            let declared = schema
                .get("tables")
                .and_then(|tables| tables.get(table.name()))
                .and_then(|declared| declared.get("columns")?.get(column.name)?.get("type"));
            if !declared.is_some_and(|declared| column.kind.matches_schema(declared)) {
                return Err(SessionError::MissingColumn { table: table.name(), column: column.name });
            }
        }
    }
    Ok(())
}

/// Returns the schema of the tables that the client uses, without the column `missing`.
pub(super) fn schema_json(missing: Option<&str>) -> Value {
    let tables = OvsdbTable::ALL.map(|table| {
        let columns = table.columns().iter().filter(|column| Some(column.name) != missing);
        let columns: Map<_, _> =
            columns.map(|column| (column.name.to_owned(), json!({"type": declared(column.kind)}))).collect();
        (table.name().to_owned(), json!({"columns": columns}))
    });
    json!({"name": "Open_vSwitch", "tables": tables.into_iter().collect::<Map<_, _>>()})
}

fn declared(kind: ColumnKind) -> Value {
    match kind {
        ColumnKind::String => json!("string"),
        ColumnKind::Integer => json!({"key": {"type": "integer", "minInteger": 0}}),
        ColumnKind::OptionalString => json!({"key": "string", "min": 0, "max": 1}),
        ColumnKind::OptionalInteger => json!({"key": "integer", "min": 0, "max": 1}),
        ColumnKind::Strings => json!({"key": {"type": "string"}, "min": 0, "max": "unlimited"}),
        ColumnKind::Integers => json!({"key": {"type": "integer"}, "min": 0, "max": 4096}),
        ColumnKind::Uuids => json!({"key": {"type": "uuid"}, "min": 0, "max": "unlimited"}),
        ColumnKind::StringMap => json!({"key": "string", "value": "string", "min": 0, "max": "unlimited"}),
    }
}
