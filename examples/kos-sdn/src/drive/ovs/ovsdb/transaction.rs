//! Transactions: operations that the database commits together or not at all.

use std::collections::BTreeMap;

use serde_json::{Map, Value, json};

use super::condition::{Condition, Mutation};
use super::error::TransactError;
use super::row_uuid::RowUuid;
use super::tables::OvsdbTable;
use super::value::Datum;

/// Operations that are committed together or not at all.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Transaction {
    operations: Vec<RowOperation>,
    next_cfg: bool,
}

/// One operation of a transaction.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum RowOperation {
    /// Inserts a row.
    Insert {
        /// The table.
        table: OvsdbTable,
        /// Name for references within the transaction: a letter or `_`, then letters, digits, `_`.
        name: Option<String>,
        /// The values; others have their defaults.
        row: RowValues,
    },
    /// Sets columns of rows.
    Update {
        /// The table.
        table: OvsdbTable,
        /// Selects the rows.
        conditions: Vec<Condition>,
        /// The new values.
        row: RowValues,
    },
    /// Changes columns of rows depending on their values.
    Mutate {
        /// The table.
        table: OvsdbTable,
        /// Selects the rows.
        conditions: Vec<Condition>,
        /// The changes.
        mutations: Vec<Mutation>,
    },
    /// Deletes rows. Rows of `Bridge`, `Port` and `Interface` are deleted by the database when no
    /// row refers to them.
    Delete {
        /// The table.
        table: OvsdbTable,
        /// Selects the rows.
        conditions: Vec<Condition>,
    },
    /// Fails the transaction unless the selected rows have these values.
    Wait {
        /// The table.
        table: OvsdbTable,
        /// Selects the rows.
        conditions: Vec<Condition>,
        /// The compared columns.
        columns: Vec<&'static str>,
        /// Whether the rows must be equal, or different.
        until_equal: bool,
        /// The expected rows.
        rows: Vec<RowValues>,
    },
    /// Leaves a text in the log of the database.
    Comment(String),
}

/// Values of columns.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct RowValues(BTreeMap<&'static str, Datum>);

impl RowValues {
    /// Makes a row without values.
    #[must_use]
    pub fn new() -> Self {
        Self::default()
    }

    /// Sets a column.
    #[must_use]
    pub fn with(mut self, column: &'static str, value: impl Into<Datum>) -> Self {
        self.0.insert(column, value.into());
        self
    }

    /// Returns the values by column.
    pub fn iter(&self) -> impl Iterator<Item = (&'static str, &Datum)> {
        self.0.iter().map(|(column, value)| (*column, value))
    }

    /// Returns whether no column is set.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    fn to_json(&self) -> Value {
        Value::Object(self.iter().map(|(column, value)| (column.to_owned(), value.to_json())).collect())
    }
}

impl Transaction {
    /// Makes a transaction without operations.
    #[must_use]
    pub fn new() -> Self {
        Self::default()
    }

    /// Appends an operation.
    pub fn push(&mut self, operation: RowOperation) {
        self.operations.push(operation);
    }

    /// Appends an insert under a name, and returns the reference to the row.
    pub fn insert(&mut self, table: OvsdbTable, name: impl Into<String>, row: RowValues) -> Datum {
        let name = name.into();
        self.push(RowOperation::Insert { table, name: Some(name.clone()), row });
        Datum::named(name)
    }

    /// Appends an update of one row.
    pub fn update(&mut self, table: OvsdbTable, uuid: RowUuid, row: RowValues) {
        self.push(RowOperation::Update { table, conditions: vec![Condition::uuid(uuid)], row });
    }

    /// Appends mutations of one row.
    pub fn mutate(&mut self, table: OvsdbTable, uuid: RowUuid, mutations: Vec<Mutation>) {
        self.push(RowOperation::Mutate { table, conditions: vec![Condition::uuid(uuid)], mutations });
    }

    /// Appends a check that a row exists and has these values; without values, that it exists.
    pub fn expect_row(&mut self, table: OvsdbTable, uuid: RowUuid, row: RowValues) {
        let row = row.with("_uuid", uuid);
        self.push(RowOperation::Wait {
            table,
            conditions: vec![Condition::uuid(uuid)],
            columns: row.0.keys().copied().collect(),
            until_equal: true,
            rows: vec![row],
        });
    }

    /// Appends a check that no row has this value.
    pub fn expect_none(&mut self, table: OvsdbTable, condition: Condition) {
        self.push(RowOperation::Wait {
            table,
            conditions: vec![condition],
            columns: vec!["_uuid"],
            until_equal: true,
            rows: Vec::new(),
        });
    }

    /// Requests a new configuration number: `next_cfg` is incremented and returned by the commit,
    /// so that [`applied`](super::applied) can wait until ovs-vswitchd has applied the rows.
    #[must_use]
    pub fn with_next_cfg(mut self) -> Self {
        self.next_cfg = true;
        self
    }

    /// Returns whether `next_cfg` is incremented.
    #[must_use]
    pub const fn increments_next_cfg(&self) -> bool {
        self.next_cfg
    }

    /// Returns the operations.
    #[must_use]
    pub fn operations(&self) -> &[RowOperation] {
        &self.operations
    }

    /// Returns whether there are no operations.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.operations.is_empty()
    }

    /// Returns the parameters of the request `transact`, checked for texts that a database rejects
    /// by closing the connection.
    pub(super) fn checked_params(&self, lock: &str) -> Result<Value, TransactError> {
        let params = self.to_params(lock);
        if has_nul(&params) { Err(TransactError::NulInText) } else { Ok(params) }
    }

    /// Returns the parameters of the request `transact`, with the assertion of a lock first.
    #[must_use]
    pub fn to_params(&self, lock: &str) -> Value {
        let mut params = vec![json!("Open_vSwitch"), json!({"op": "assert", "lock": lock})];
        params.extend(self.operations.iter().map(RowOperation::to_json));
        if self.next_cfg {
            let table = OvsdbTable::Root.name();
            let add = Mutation::add("next_cfg", 1).to_json();
            params.push(json!({"op": "mutate", "table": table, "where": [], "mutations": [add]}));
            params.push(json!({"op": "select", "table": table, "where": [], "columns": ["next_cfg"]}));
        }
        Value::Array(params)
    }
}

fn has_nul(json: &Value) -> bool {
    match json {
        Value::String(text) => text.contains('\0'),
        Value::Array(items) => items.iter().any(has_nul),
        Value::Object(members) => members.values().any(has_nul),
        Value::Null | Value::Bool(_) | Value::Number(_) => false,
    }
}

impl RowOperation {
    fn to_json(&self) -> Value {
        let selected = |op: &str, table: OvsdbTable, conditions: &[Condition]| {
            let mut members = Map::new();
            members.insert("op".to_owned(), json!(op));
            members.insert("table".to_owned(), json!(table.name()));
            let conditions: Vec<_> = conditions.iter().map(Condition::to_json).collect();
            members.insert("where".to_owned(), Value::Array(conditions));
            members
        };
        match self {
            Self::Insert { table, name, row } => {
                let mut members = json!({"op": "insert", "table": table.name(), "row": row.to_json()});
                if let (Some(name), Some(members)) = (name, members.as_object_mut()) {
                    members.insert("uuid-name".to_owned(), json!(name));
                }
                members
            }
            Self::Update { table, conditions, row } => {
                let mut members = selected("update", *table, conditions);
                members.insert("row".to_owned(), row.to_json());
                Value::Object(members)
            }
            Self::Mutate { table, conditions, mutations } => {
                let mut members = selected("mutate", *table, conditions);
                let mutations: Vec<_> = mutations.iter().map(Mutation::to_json).collect();
                members.insert("mutations".to_owned(), Value::Array(mutations));
                Value::Object(members)
            }
            Self::Delete { table, conditions } => Value::Object(selected("delete", *table, conditions)),
            Self::Wait { table, conditions, columns, until_equal, rows } => {
                let mut members = selected("wait", *table, conditions);
                members.insert("timeout".to_owned(), json!(0));
                members.insert("columns".to_owned(), json!(columns));
                members.insert("until".to_owned(), json!(if *until_equal { "==" } else { "!=" }));
                let rows: Vec<_> = rows.iter().map(RowValues::to_json).collect();
                members.insert("rows".to_owned(), Value::Array(rows));
                Value::Object(members)
            }
            Self::Comment(text) => json!({"op": "comment", "comment": text}),
        }
    }
}
