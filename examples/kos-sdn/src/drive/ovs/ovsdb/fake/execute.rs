//! Interpretation of the operations of a transaction.

use std::collections::{BTreeMap, BTreeSet};

use crate::drive::ovs::ovsdb::condition::{Condition, Function, Mutation, Mutator};
use crate::drive::ovs::ovsdb::error::TransactError;
use crate::drive::ovs::ovsdb::outcome::{Committed, OperationResult};
use crate::drive::ovs::ovsdb::row_store::{RawRow, RowStore};
use crate::drive::ovs::ovsdb::row_uuid::RowUuid;
use crate::drive::ovs::ovsdb::tables::{ColumnKind, OvsdbTable};
use crate::drive::ovs::ovsdb::transaction::{RowOperation, RowValues, Transaction};
use crate::drive::ovs::ovsdb::value::{Atom, Datum};

/// The source of UUIDs: a counter, so that tests are repeatable.
#[derive(Debug, Default)]
pub(super) struct UuidSource(u64);

impl UuidSource {
    pub(super) fn next(&mut self) -> RowUuid {
        self.0 += 1;
        RowUuid::from_bits(0xfa4e_0000_0000_4000_8000_0000_0000_0000 + u128::from(self.0))
    }
}

/// The error and its details, without the index of the operation.
type Refusal = (&'static str, String);

/// Applies all operations to `store`. After an error, `store` is partially changed.
pub(super) fn execute(
    store: &mut RowStore,
    uuids: &mut UuidSource,
    transaction: &Transaction,
) -> Result<Committed, TransactError> {
    let names = named_rows(uuids, transaction)?;
    let mut executor = Executor { store, uuids, names };
    let mut committed = Committed::default();
    for (operation, one) in transaction.operations().iter().enumerate() {
        let result = executor.run(one).map_err(|(error, details)| match error {
            "timed out" => TransactError::RowsChanged { operation },
            _ => TransactError::Refused { operation: Some(operation), error: error.to_owned(), details },
        })?;
        committed.results.push(result);
    }
    if transaction.increments_next_cfg() {
        committed.next_cfg = executor.increment_next_cfg();
    }
    Ok(committed)
}

/// Gives each named insert its UUID first, because references may precede the insert.
fn named_rows(
    uuids: &mut UuidSource,
    transaction: &Transaction,
) -> Result<BTreeMap<String, RowUuid>, TransactError> {
    let mut names = BTreeMap::new();
    for (operation, one) in transaction.operations().iter().enumerate() {
        if let RowOperation::Insert { name: Some(name), .. } = one
            && names.insert(name.clone(), uuids.next()).is_some()
        {
            let (error, details) = ("duplicate uuid-name".to_owned(), name.clone());
            return Err(TransactError::Refused { operation: Some(operation), error, details });
        }
    }
    Ok(names)
}

struct Executor<'a> {
    store: &'a mut RowStore,
    uuids: &'a mut UuidSource,
    names: BTreeMap<String, RowUuid>,
}

impl Executor<'_> {
    fn run(&mut self, operation: &RowOperation) -> Result<OperationResult, Refusal> {
        match operation {
            RowOperation::Insert { table, name, row } => self.insert(*table, name.as_deref(), row),
            RowOperation::Update { table, conditions, row } => {
                let values = self.values(*table, row)?;
                if values.contains_key("name") {
                    return Err(("constraint violation", "name is immutable".to_owned()));
                }
                self.change(*table, conditions, |stored| {
                    stored.extend(values.clone());
                    Ok(())
                })
            }
            RowOperation::Mutate { table, conditions, mutations } => {
                let mutations: Vec<_> =
                    mutations.iter().map(|one| self.mutation(*table, one)).collect::<Result<_, _>>()?;
                self.change(*table, conditions, |row| {
                    mutations.iter().try_for_each(|(kind, mutation)| mutate(row, *kind, mutation))
                })
            }
            RowOperation::Delete { table, conditions } => {
                let selected = self.selected(*table, conditions)?;
                selected.iter().for_each(|uuid| self.store.put(*table, *uuid, None));
                Ok(OperationResult::Count(selected.len() as u64))
            }
            RowOperation::Wait { table, conditions, columns, until_equal, rows } => {
                let found = self.found(*table, conditions, columns)?;
                let expected =
                    rows.iter().map(|row| self.expected(row, columns)).collect::<Result<BTreeSet<_>, _>>()?;
                if (found == expected) == *until_equal {
                    return Ok(OperationResult::Done);
                }
                Err(("timed out", "\"wait\" timed out".to_owned()))
            }
            RowOperation::Comment(_) => Ok(OperationResult::Done),
        }
    }

    fn insert(
        &mut self,
        table: OvsdbTable,
        name: Option<&str>,
        row: &RowValues,
    ) -> Result<OperationResult, Refusal> {
        let values = self.values(table, row)?;
        let named = name.and_then(|name| self.names.get(name).copied());
        let uuid = named.unwrap_or_else(|| self.uuids.next());
        self.store.put(table, uuid, Some(values));
        Ok(OperationResult::Inserted(uuid))
    }

    fn change(
        &mut self,
        table: OvsdbTable,
        conditions: &[Condition],
        mut change: impl FnMut(&mut RawRow) -> Result<(), Refusal>,
    ) -> Result<OperationResult, Refusal> {
        let selected = self.selected(table, conditions)?;
        for uuid in &selected {
            let mut row = self.store.row(table, *uuid).cloned().unwrap_or_default();
            change(&mut row)?;
            self.store.put(table, *uuid, Some(row));
        }
        Ok(OperationResult::Count(selected.len() as u64))
    }

    fn selected(&self, table: OvsdbTable, conditions: &[Condition]) -> Result<Vec<RowUuid>, Refusal> {
        let mut conditions = conditions.to_vec();
        for condition in &mut conditions {
            condition.value = self.resolved(&condition.value)?;
            if condition.column != "_uuid" {
                kind(table, condition.column)?;
            }
        }
        let fits = |uuid, row: &RawRow| {
            conditions.iter().all(|one| one.is_met(&value(table, uuid, row, one.column)))
        };
        Ok(self.store.table(table).filter(|(uuid, row)| fits(*uuid, row)).map(|(uuid, _)| uuid).collect())
    }

    fn found(
        &self,
        table: OvsdbTable,
        conditions: &[Condition],
        columns: &[&'static str],
    ) -> Result<BTreeSet<Vec<Datum>>, Refusal> {
        let selected = self.selected(table, conditions)?.into_iter();
        let row = |uuid| Some((uuid, self.store.row(table, uuid)?));
        let values = |(uuid, row): (RowUuid, &RawRow)| {
            columns.iter().map(|column| value(table, uuid, row, column)).collect()
        };
        Ok(selected.filter_map(row).map(values).collect())
    }

    fn expected(&self, row: &RowValues, columns: &[&str]) -> Result<Vec<Datum>, Refusal> {
        let values: BTreeMap<_, _> = row.iter().collect();
        let missing = || ("syntax error", "a compared column has no value".to_owned());
        let of = |column: &&str| self.resolved(values.get(column).ok_or_else(missing)?);
        columns.iter().map(of).collect()
    }

    fn values(&self, table: OvsdbTable, row: &RowValues) -> Result<RawRow, Refusal> {
        let checked = |(column, value): (&'static str, &Datum)| {
            let value = self.resolved(value)?;
            if kind(table, column)?.admits(&value) {
                return Ok((column, value));
            }
            Err(("syntax error", format!("{column} does not admit {}", value.to_json())))
        };
        row.iter().map(checked).collect()
    }

    fn mutation(&self, table: OvsdbTable, mutation: &Mutation) -> Result<(ColumnKind, Mutation), Refusal> {
        let value = self.resolved(&mutation.value)?;
        Ok((kind(table, mutation.column)?, Mutation { value, ..mutation.clone() }))
    }

    /// Replaces the names of rows by their UUIDs.
    fn resolved(&self, value: &Datum) -> Result<Datum, Refusal> {
        let atom = |atom: &Atom| match atom {
            Atom::Named(name) => {
                let unknown = || ("syntax error", format!("there is no row named {name}"));
                self.names.get(name).map(|uuid| Atom::Uuid(*uuid)).ok_or_else(unknown)
            }
            other => Ok(other.clone()),
        };
        Ok(match value {
            Datum::Set(set) => Datum::Set(set.iter().map(atom).collect::<Result<_, _>>()?),
            Datum::Map(map) => Datum::Map(map.clone()),
        })
    }

    fn increment_next_cfg(&mut self) -> Option<i64> {
        let (uuid, row) = self.store.table(OvsdbTable::Root).next()?;
        let mut row = row.clone();
        mutate(&mut row, ColumnKind::Integer, &Mutation::add("next_cfg", 1)).ok()?;
        let next_cfg = row.get("next_cfg").and_then(integer);
        self.store.put(OvsdbTable::Root, uuid, Some(row));
        next_cfg
    }
}

fn kind(table: OvsdbTable, column: &str) -> Result<ColumnKind, Refusal> {
    let unknown = || ("unknown column", format!("{} has no column {column}", table.name()));
    table.column(column).map(|column| column.kind).ok_or_else(unknown)
}

fn value(table: OvsdbTable, uuid: RowUuid, row: &RawRow, column: &str) -> Datum {
    if column == "_uuid" {
        return uuid.into();
    }
    let default = || table.column(column).map_or_else(Datum::empty, |column| column.kind.default_value());
    row.get(column).cloned().unwrap_or_else(default)
}

impl Condition {
    fn is_met(&self, stored: &Datum) -> bool {
        let common = match (stored, &self.value) {
            (Datum::Set(stored), Datum::Set(value)) => (stored.intersection(value).count(), value.len()),
            (Datum::Map(stored), Datum::Map(value)) => {
                (value.iter().filter(|(key, value)| stored.get(key) == Some(value)).count(), value.len())
            }
            _ => return false,
        };
        match self.function {
            Function::Equal => *stored == self.value,
            Function::NotEqual => *stored != self.value,
            Function::Includes => common.0 == common.1,
            Function::Excludes => common.0 == 0,
        }
    }
}

fn mutate(row: &mut RawRow, kind: ColumnKind, mutation: &Mutation) -> Result<(), Refusal> {
    let stored = row.entry(mutation.column).or_insert_with(|| kind.default_value());
    let domain = || ("domain error", format!("{} cannot be mutated so", mutation.column));
    match (mutation.mutator, stored, &mutation.value) {
        (Mutator::Insert, Datum::Set(stored), Datum::Set(value)) => stored.extend(value.iter().cloned()),
        (Mutator::Insert, Datum::Map(stored), Datum::Map(value)) => {
            for (key, value) in value {
                stored.entry(key.clone()).or_insert_with(|| value.clone());
            }
        }
        (Mutator::Delete, Datum::Set(stored), Datum::Set(value)) => {
            stored.retain(|atom| !value.contains(atom))
        }
        (Mutator::Delete, Datum::Map(stored), Datum::Set(keys)) => {
            stored.retain(|key, _| !keys.contains(key))
        }
        (Mutator::Delete, Datum::Map(stored), Datum::Map(value)) => {
            stored.retain(|key, one| value.get(key) != Some(one));
        }
        (Mutator::Add, stored @ Datum::Set(_), value) => {
            let (Some(number), Some(summand)) = (integer(stored), integer(value)) else {
                return Err(domain());
            };
            *stored = number.checked_add(summand).ok_or_else(domain)?.into();
        }
        _ => return Err(domain()),
    }
    let admitted = row.get(mutation.column).is_some_and(|value| kind.admits(value));
    if admitted { Ok(()) } else { Err(("constraint violation", mutation.column.to_owned())) }
}

fn integer(value: &Datum) -> Option<i64> {
    match value.atoms().next() {
        Some(Atom::Integer(number)) => Some(*number),
        _ => None,
    }
}
