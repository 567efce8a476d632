//! The check that a database has the columns the client needs.

use serde_json::Value;

use super::session::SessionError;
use super::tables::Table;

/// Checks the schema of a server.
pub(super) fn check_schema(schema: &Value) -> Result<(), SessionError> {
    for table in Table::ALL {
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
