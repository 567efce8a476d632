//! A client of the simulated database.

use std::sync::Arc;

use async_trait::async_trait;
use machinery::sync::Mutex;
use machinery::tokio::time::sleep;

use super::state::FakeState;
use crate::drive::ovs::ovsdb::database::Database;
use crate::drive::ovs::ovsdb::error::TransactError;
use crate::drive::ovs::ovsdb::outcome::Committed;
use crate::drive::ovs::ovsdb::publisher::SnapshotPublisher;
use crate::drive::ovs::ovsdb::snapshot::DatabaseSnapshot;
use crate::drive::ovs::ovsdb::transaction::Transaction;

/// A connection to a [`FakeDatabase`](super::FakeDatabase). Dropping it releases its lock.
#[derive(Debug)]
pub struct FakeClient {
    state: Arc<Mutex<FakeState>>,
    publisher: Arc<SnapshotPublisher>,
    id: u64,
}

impl FakeClient {
    pub(super) fn new(state: Arc<Mutex<FakeState>>, lock: &str) -> Self {
        let (id, publisher) = state.lock().connect(lock);
        Self { state, publisher, id }
    }
}

#[async_trait]
impl Database for FakeClient {
    fn snapshot(&self) -> Arc<DatabaseSnapshot> {
        self.publisher.current()
    }

    async fn changed(&self, version: u64) -> Arc<DatabaseSnapshot> {
        self.publisher.changed(version).await
    }

    async fn transact(&self, transaction: Transaction) -> Result<Committed, TransactError> {
        let (result, delay) = {
            let mut state = self.state.lock();
            (state.transact(self.id, &transaction), state.reply_delay)
        };
        if !delay.is_zero() {
            sleep(delay).await;
        }
        result
    }
}

impl Drop for FakeClient {
    fn drop(&mut self) {
        self.state.lock().disconnect(self.id);
    }
}
