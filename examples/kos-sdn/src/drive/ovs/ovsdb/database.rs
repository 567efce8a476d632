//! The trait through which a fabric uses a database.

use std::sync::Arc;
use std::time::Duration;

use async_trait::async_trait;
use machinery::tokio::time::timeout;

use super::error::{ApplyError, TransactError};
use super::outcome::Committed;
use super::snapshot::DatabaseSnapshot;
use super::transaction::Transaction;

/// A client of an OVS database.
#[async_trait]
pub trait Database: Send + Sync + 'static {
    /// Returns the current state, without waiting. After a committed transaction of this client, it
    /// has its changes.
    fn snapshot(&self) -> Arc<DatabaseSnapshot>;

    /// Waits until the version of the state differs from `version`, and returns the state. Dropping
    /// the future has no effect. Never returns after the client has stopped.
    async fn changed(&self, version: u64) -> Arc<DatabaseSnapshot>;

    /// Commits a transaction, with the lock of this client asserted.
    ///
    /// Dropping the future leaves the transaction committed or not.
    async fn transact(&self, transaction: Transaction) -> Result<Committed, TransactError>;
}

/// Waits until ovs-vswitchd has applied the configuration `next_cfg` of a [`Committed`]
/// transaction.
///
/// # Errors
/// It has not within `limit`, or the database was replaced.
pub async fn applied(
    database: &dyn Database,
    next_cfg: i64,
    limit: Duration,
) -> Result<Arc<DatabaseSnapshot>, ApplyError> {
    let mut cur_cfg = 0;
    let epoch = database.snapshot().epoch;
    let wait = async {
        let mut snapshot = database.snapshot();
        loop {
            if let Some(root) = snapshot.rows.root() {
                cur_cfg = root.cur_cfg;
                if cur_cfg >= next_cfg {
                    return Ok(snapshot);
                }
            }
            if snapshot.epoch != epoch && snapshot.rows.root().is_none_or(|root| root.next_cfg < next_cfg) {
                return Err(ApplyError::Replaced { next_cfg });
            }
            snapshot = database.changed(snapshot.version).await;
        }
    };
    let waited = timeout(limit, wait).await;
    waited.unwrap_or(Err(ApplyError::Late { next_cfg, cur_cfg, limit }))
}
