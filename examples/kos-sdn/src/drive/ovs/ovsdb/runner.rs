//! The task that owns the connection of a client.

use std::error::Error;
use std::sync::Arc;
use std::time::Duration;

use machinery::tokio;
use machinery::tokio::sync::mpsc;
use machinery::tokio::time::{sleep, timeout};
use machinery::tokio_util::sync::CancellationToken;

use super::backoff::Backoff;
use super::cache::RowCache;
use super::client::TransactRequest;
use super::config::OvsdbConfig;
use super::connected::ConnectedSession;
use super::error::TransactError;
use super::publisher::SnapshotPublisher;
use super::session::SessionError;
use super::snapshot::{ConnectionState, LockState};
use crate::drive::ovs::json_rpc::{RpcConnection, RpcError};

/// Keeps a client connected until cancelled.
#[derive(Debug)]
pub struct OvsdbRunner {
    config: OvsdbConfig,
    publisher: Arc<SnapshotPublisher>,
    requests: mpsc::Receiver<TransactRequest>,
    cache: RowCache,
    backoff: Backoff,
}

/// The reason why a connection ended.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum ConnectionError {
    /// The connection failed.
    #[error("the connection to the OVS database ended")]
    Connection(#[from] RpcError),
    /// The server broke the protocol, or cannot serve the client.
    #[error(transparent)]
    Session(#[from] SessionError),
    /// The server sent nothing.
    #[error("the OVS database was silent for {limit:?}, in spite of a probe: see whether it is busy")]
    Silent {
        /// The time limit.
        limit: Duration,
    },
    /// The server did not answer a request.
    #[error("the OVS database did not answer within {limit:?}: see its log")]
    NoReply {
        /// The time limit.
        limit: Duration,
    },
}

impl OvsdbRunner {
    pub(super) fn new(
        config: OvsdbConfig,
        publisher: Arc<SnapshotPublisher>,
        requests: mpsc::Receiver<TransactRequest>,
    ) -> Self {
        let cache = RowCache::new(config.rows);
        let backoff = Backoff::new(config.backoff_min, config.backoff_max);
        Self { config, publisher, requests, cache, backoff }
    }

    /// Connects, and reconnects with a back-off, until cancelled.
    pub async fn run(mut self, stopping: CancellationToken) {
        while let Some(error) = stopping.run_until_cancelled(self.serve()).await {
            let reason = with_causes(&error);
            tracing::warn!(socket = %self.config.socket.display(), reason, "no connection to the OVS database");
            self.disconnected(&reason);
            if stopping.run_until_cancelled(self.pause(&reason)).await.is_none() {
                break;
            }
        }
        self.disconnected("the client was stopped");
    }

    /// Serves one connection until it ends.
    async fn serve(&mut self) -> ConnectionError {
        let connect = RpcConnection::connect(&self.config.socket, self.config.message_bytes);
        let connection = match timeout(self.config.reply, connect).await {
            Ok(Ok(connection)) => connection,
            Ok(Err(error)) => return error.into(),
            Err(_) => return ConnectionError::NoReply { limit: self.config.reply },
        };
        let mut session = ConnectedSession::begin(connection, &self.config, &self.cache);
        let mut connected = false;
        loop {
            match session.step(&mut self.cache, &mut self.requests).await {
                Ok(false) => {}
                Ok(true) => {
                    let is_first = !connected && session.is_monitoring();
                    connected |= is_first;
                    if is_first {
                        self.backoff.reset();
                    }
                    if connected {
                        self.publish(session.lock_state(), is_first);
                    }
                }
                Err(error) => {
                    session.end(&with_causes(&error));
                    return error;
                }
            }
        }
    }

    /// Waits before the next attempt; transactions fail meanwhile.
    async fn pause(&mut self, reason: &str) {
        let refuse = async {
            while let Some(request) = self.requests.recv().await {
                let error = TransactError::Disconnected { reason: reason.to_owned() };
                let _ = request.reply.send(Err(error)); // the caller may have left
            }
            std::future::pending::<()>().await; // all clients were dropped, and rows are of no use
        };
        tokio::select! {
            biased;
            () = sleep(self.backoff.next_delay()) => {}
            () = refuse => {}
        }
    }

    fn publish(&self, lock: LockState, is_first: bool) {
        self.publisher.change(|snapshot| {
            snapshot.rows = self.cache.rows();
            snapshot.epoch = self.cache.epoch();
            snapshot.lock = lock;
            snapshot.sessions += u64::from(is_first);
            snapshot.connection = ConnectionState::Connected;
        });
    }

    fn disconnected(&self, reason: &str) {
        self.publisher.change(|snapshot| {
            snapshot.connection = ConnectionState::Disconnected { reason: reason.to_owned() };
            snapshot.lock = LockState::Unknown;
        });
    }
}

/// Returns the text of an error and its causes.
fn with_causes(error: &dyn Error) -> String {
    let causes = std::iter::successors(error.source(), |cause: &&dyn Error| (*cause).source());
    causes.fold(error.to_string(), |text, cause| format!("{text}: {cause}"))
}
