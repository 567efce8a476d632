//! The client of ovsdb-server.

use std::sync::Arc;

use async_trait::async_trait;
use machinery::tokio::sync::{mpsc, oneshot};

use super::config::OvsdbConfig;
use super::database::Database;
use super::error::TransactError;
use super::outcome::{Committed, ReplyForm};
use super::publisher::SnapshotPublisher;
use super::runner::OvsdbRunner;
use super::snapshot::{ConnectionState, DatabaseSnapshot, LockState};
use super::transaction::Transaction;

/// A client of ovsdb-server, over the connection of its [`OvsdbRunner`].
#[derive(Debug)]
pub struct OvsdbClient {
    publisher: Arc<SnapshotPublisher>,
    requests: mpsc::Sender<TransactRequest>,
    lock: String,
    transaction_bytes: usize,
}

/// A transaction for the runner.
#[derive(Debug)]
pub(super) struct TransactRequest {
    /// The JSON of the parameters.
    pub(super) params: String,
    pub(super) form: ReplyForm,
    pub(super) reply: oneshot::Sender<Result<Committed, TransactError>>,
}

impl OvsdbClient {
    /// Makes a client, and the runner of its connection. Without a running runner, the client stays
    /// disconnected.
    #[must_use]
    pub fn new(config: OvsdbConfig) -> (Self, OvsdbRunner) {
        let publisher = Arc::<SnapshotPublisher>::default();
        let (requests, received) = mpsc::channel(config.in_flight.max(1));
        let client = Self {
            publisher: publisher.clone(),
            requests,
            lock: config.lock.as_str().to_owned(),
            transaction_bytes: config.transaction_bytes,
        };
        (client, OvsdbRunner::new(config, publisher, received))
    }
}

#[async_trait]
impl Database for OvsdbClient {
    fn snapshot(&self) -> Arc<DatabaseSnapshot> {
        self.publisher.current()
    }

    async fn changed(&self, version: u64) -> Arc<DatabaseSnapshot> {
        self.publisher.changed(version).await
    }

    async fn transact(&self, transaction: Transaction) -> Result<Committed, TransactError> {
        let snapshot = self.snapshot();
        if let ConnectionState::Disconnected { reason } = &snapshot.connection {
            return Err(TransactError::Disconnected { reason: reason.clone() });
        }
        if snapshot.lock != LockState::Owned {
            return Err(TransactError::LockNotOwned { lock: self.lock.clone() });
        }
        let params = transaction.checked_params(&self.lock)?.to_string();
        if params.len() > self.transaction_bytes {
            return Err(TransactError::TooBig { size: params.len(), limit: self.transaction_bytes });
        }
        let stopped = || TransactError::Disconnected { reason: "the client was stopped".to_owned() };
        let (reply, received) = oneshot::channel();
        let request = TransactRequest { params, form: ReplyForm::new(&transaction, &self.lock), reply };
        self.requests.send(request).await.map_err(|_| stopped())?;
        let unknown = |_| TransactError::OutcomeUnknown { reason: "the client was stopped".to_owned() };
        received.await.map_err(unknown)?
    }
}
