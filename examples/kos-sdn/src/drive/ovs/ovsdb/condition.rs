//! Conditions that select rows, and mutations of their columns.

use serde_json::{Value, json};

use super::row_uuid::RowUuid;
use super::value::Datum;

/// A condition on a column. Rows fulfil all conditions of an operation.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Condition {
    /// Name of the column, or `_uuid`.
    pub column: &'static str,
    /// The comparison.
    pub function: Function,
    /// The value compared with.
    pub value: Datum,
}

/// A comparison.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Function {
    /// The values are equal.
    Equal,
    /// The values differ.
    NotEqual,
    /// The column has all elements of the value.
    Includes,
    /// The column has none of the elements of the value.
    Excludes,
}

/// A change of a column that depends on its value.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Mutation {
    /// Name of the column.
    pub column: &'static str,
    /// The kind of change.
    pub mutator: Mutator,
    /// The elements or the summand.
    pub value: Datum,
}

/// A kind of mutation.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Mutator {
    /// Adds elements to a set, or pairs to a map. A key that is present keeps its value.
    Insert,
    /// Removes elements from a set; from a map, pairs, or keys if the value is a set.
    Delete,
    /// Adds to a number.
    Add,
}

impl Condition {
    /// Selects the row of a UUID.
    #[must_use]
    pub fn uuid(uuid: RowUuid) -> Self {
        Self::equal("_uuid", uuid)
    }

    /// Selects rows by the value of a column.
    pub fn equal(column: &'static str, value: impl Into<Datum>) -> Self {
        Self { column, function: Function::Equal, value: value.into() }
    }

    /// Selects rows that have all elements of a value.
    pub fn includes(column: &'static str, value: impl Into<Datum>) -> Self {
        Self { column, function: Function::Includes, value: value.into() }
    }

    pub(super) fn to_json(&self) -> Value {
        let function = match self.function {
            Function::Equal => "==",
            Function::NotEqual => "!=",
            Function::Includes => "includes",
            Function::Excludes => "excludes",
        };
        json!([self.column, function, self.value.to_json()])
    }
}

impl Mutation {
    /// Adds elements to a set, or pairs to a map.
    pub fn insert(column: &'static str, value: impl Into<Datum>) -> Self {
        Self { column, mutator: Mutator::Insert, value: value.into() }
    }

    /// Removes elements from a set, or keys or pairs from a map.
    pub fn delete(column: &'static str, value: impl Into<Datum>) -> Self {
        Self { column, mutator: Mutator::Delete, value: value.into() }
    }

    /// Adds to a number.
    #[must_use]
    pub fn add(column: &'static str, summand: i64) -> Self {
        Self { column, mutator: Mutator::Add, value: summand.into() }
    }

    pub(super) fn to_json(&self) -> Value {
        let mutator = match self.mutator {
            Mutator::Insert => "insert",
            Mutator::Delete => "delete",
            Mutator::Add => "+=",
        };
        json!([self.column, mutator, self.value.to_json()])
    }
}
