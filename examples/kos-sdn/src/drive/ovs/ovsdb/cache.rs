//! The rows of a database as notified by its monitor.

use std::sync::Arc;

use serde_json::Value;

use super::row_store::{RawRow, RowStore};
use super::rows::Rows;
use super::session::SessionError;
use super::tables::OvsdbTable;
use super::updates::{RowUpdate, RowUpdateKind, apply_difference, parse_updates};

/// The transaction before all others: the server then sends all rows.
const NO_TRANSACTION: &str = "00000000-0000-0000-0000-000000000000";

/// The cache of rows. It outlives connections, so that a server with a history of transactions
/// sends only those that were missed.
#[derive(Debug)]
pub(super) struct RowCache {
    store: RowStore,
    last_transaction: String,
    epoch: u64,
    limit: usize,
}

impl RowCache {
    /// Makes an empty cache of at most `limit` rows.
    pub(super) fn new(limit: usize) -> Self {
        Self { store: RowStore::default(), last_transaction: NO_TRANSACTION.to_owned(), epoch: 0, limit }
    }

    pub(super) fn rows(&self) -> Arc<Rows> {
        self.store.rows()
    }

    pub(super) const fn epoch(&self) -> u64 {
        self.epoch
    }

    /// Returns the identity of the latest transaction in the cache.
    pub(super) fn last_transaction(&self) -> &str {
        &self.last_transaction
    }

    /// Applies the reply of `monitor_cond_since`. An error leaves the cache unchanged, and lets the
    /// next connection replace it.
    pub(super) fn begin(&mut self, reply: &Value) -> Result<(), SessionError> {
        let (Some(found), Some(last), Some(updates)) =
            (reply.get(0).and_then(Value::as_bool), reply.get(1).and_then(Value::as_str), reply.get(2))
        else {
            return Err(malformed("the reply to monitor_cond_since has not three members"));
        };
        if found {
            return self.update(last, updates);
        }
        let empty = RowStore::default();
        let store = self.forget_on_error(|cache| cache.applied(empty, parse_updates(updates)?))?;
        self.store = store;
        self.epoch += 1;
        last.clone_into(&mut self.last_transaction);
        Ok(())
    }

    /// Applies a notification. An error leaves the cache unchanged, and lets the next connection
    /// replace it.
    pub(super) fn update(&mut self, last: &str, updates: &Value) -> Result<(), SessionError> {
        let repeated = last == self.last_transaction && last != NO_TRANSACTION;
        self.forget_on_error(|cache| {
            let updates = parse_updates(updates)?;
            if repeated && !updates.is_empty() {
                return Err(malformed("a transaction was notified twice"));
            }
            let changes = updates.into_iter().map(|update| cache.prepared(&cache.store, update));
            let changes = changes.collect::<Result<Vec<_>, _>>()?;
            let rows = cache.store.len() + changes.len();
            if rows > cache.limit {
                return Err(SessionError::TooManyRows { limit: cache.limit });
            }
            for (table, uuid, row) in changes {
                cache.store.put(table, uuid, row);
            }
            Ok(())
        })?;
        last.clone_into(&mut self.last_transaction);
        Ok(())
    }

    fn applied(&self, mut store: RowStore, updates: Vec<RowUpdate>) -> Result<RowStore, SessionError> {
        if updates.len() > self.limit {
            return Err(SessionError::TooManyRows { limit: self.limit });
        }
        for update in updates {
            let (table, uuid, row) = self.prepared(&store, update)?;
            store.put(table, uuid, row);
        }
        Ok(store)
    }

    /// Computes the new values of a row.
    fn prepared(
        &self,
        store: &RowStore,
        update: RowUpdate,
    ) -> Result<(OvsdbTable, super::RowUuid, Option<RawRow>), SessionError> {
        let RowUpdate { table, uuid, change } = update;
        let known = store.row(table, uuid);
        let row = match (change, known) {
            (RowUpdateKind::Insert(row), None) => Some(row),
            (RowUpdateKind::Modify(difference), Some(known)) => {
                Some(modified(table, known.clone(), difference)?)
            }
            (RowUpdateKind::Delete, Some(_)) => None,
            (RowUpdateKind::Insert(_), Some(_)) => return Err(malformed("a known row was inserted")),
            (_, None) => return Err(malformed("an unknown row was changed")),
        };
        Ok((table, uuid, row))
    }

    fn forget_on_error<T>(
        &mut self,
        apply: impl FnOnce(&mut Self) -> Result<T, SessionError>,
    ) -> Result<T, SessionError> {
        apply(self).inspect_err(|_| NO_TRANSACTION.clone_into(&mut self.last_transaction))
    }
}

fn modified(table: OvsdbTable, mut row: RawRow, difference: RawRow) -> Result<RawRow, SessionError> {
    for (name, value) in difference {
        let Some(column) = table.column(name) else { continue };
        if column.kind.is_composite() {
            let known = row.entry(name).or_insert_with(|| column.kind.default_value());
            apply_difference(known, value)?;
        } else {
            row.insert(name, value);
        }
    }
    Ok(row)
}

fn malformed(reason: &'static str) -> SessionError {
    SessionError::Malformed { reason: reason.to_owned() }
}
