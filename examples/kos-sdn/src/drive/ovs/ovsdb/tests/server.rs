//! A scripted ovsdb-server.

use std::collections::VecDeque;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use machinery::tokio::net::UnixListener;
use machinery::tokio::task::JoinHandle;
use machinery::tokio::time::timeout;
use machinery::tokio_util::sync::{CancellationToken, DropGuard};
use machinery::tokio_util::task::TaskTracker;
use serde_json::{Map, Value, json};

use crate::drive::ovs::json_rpc::{RpcConnection, RpcMessage};
pub(super) use crate::drive::ovs::ovsdb::schema::schema_json;
use crate::drive::ovs::ovsdb::{
    Committed, ConnectionState, Database, DatabaseSnapshot, LockName, OvsdbClient, OvsdbConfig, OvsdbTable,
    RowUuid, RowValues, TransactError, Transaction,
};

/// Deadline of all waits.
const DEADLINE: Duration = Duration::from_secs(60);

/// A client and the server's end of its connections.
pub(super) struct Scripted {
    pub(super) client: Arc<OvsdbClient>,
    listener: UnixListener,
    _directory: tempfile::TempDir,
    _stop: DropGuard,
}

/// The server's end of a connection.
pub(super) struct ServerEnd {
    connection: RpcConnection,
    /// Messages received while others were sent.
    early: VecDeque<RpcMessage>,
}

impl Scripted {
    pub(super) fn start() -> Self {
        Self::with(|_| {})
    }

    /// Starts a client with other limits.
    pub(super) fn with(adjust: impl FnOnce(&mut OvsdbConfig)) -> Self {
        let directory = tempfile::tempdir().unwrap();
        let socket: PathBuf = directory.path().join("db.sock");
        let listener = UnixListener::bind(&socket).unwrap();
        let mut config = OvsdbConfig::new(socket, LockName::new("kos").unwrap());
        config.backoff_min = Duration::from_millis(1);
        config.probe_after = DEADLINE;
        config.silence = DEADLINE;
        adjust(&mut config);
        let (client, runner) = OvsdbClient::new(config);
        let stopping = CancellationToken::new();
        TaskTracker::new().spawn(runner.run(stopping.clone()));
        Self { client: Arc::new(client), listener, _directory: directory, _stop: stopping.drop_guard() }
    }

    /// Accepts the next connection.
    pub(super) async fn accept(&self) -> ServerEnd {
        let (stream, _) = within(self.listener.accept()).await.unwrap();
        ServerEnd { connection: RpcConnection::new(stream, 1 << 20), early: VecDeque::new() }
    }

    /// Accepts the next connection, sends one bridge, and gives the lock.
    pub(super) async fn accept_and_serve(&self) -> ServerEnd {
        let mut server = self.accept().await;
        server.answer_start(&json!([false, transaction_id(1), bridges(&["kos"])])).await;
        self.until(DatabaseSnapshot::is_writable).await;
        server
    }

    /// Waits until the snapshot fulfils a condition.
    pub(super) async fn until(&self, holds: impl Fn(&DatabaseSnapshot) -> bool) -> Arc<DatabaseSnapshot> {
        within(async {
            let mut snapshot = self.client.snapshot();
            while !holds(&snapshot) {
                snapshot = self.client.changed(snapshot.version).await;
            }
            snapshot
        })
        .await
    }

    /// Waits for a disconnection with a text in its reason.
    pub(super) async fn until_disconnected(&self, text: &str) {
        let of = |snapshot: &DatabaseSnapshot| match &snapshot.connection {
            ConnectionState::Disconnected { reason } => reason.contains(text),
            ConnectionState::Connected => false,
        };
        self.until(of).await;
    }

    /// Begins a transaction with one insert and one update.
    pub(super) fn transact(&self) -> JoinHandle<Result<Committed, TransactError>> {
        let client = self.client.clone();
        let mut transaction = Transaction::new().with_next_cfg();
        transaction.insert(OvsdbTable::Port, "p", RowValues::new().with("name", "a"));
        transaction.update(OvsdbTable::Bridge, row_id(0), RowValues::new().with("fail_mode", "secure"));
        TaskTracker::new().spawn(async move { client.transact(transaction).await })
    }
}

impl ServerEnd {
    /// Answers the first three requests.
    pub(super) async fn answer_start(&mut self, monitor: &Value) {
        let (schema, _) = self.request("get_schema").await;
        self.reply(schema, &schema_json(None));
        let (id, _) = self.request("monitor_cond_since").await;
        self.reply(id, monitor);
        let (id, params) = self.request("lock").await;
        assert_eq!(params, [json!("kos")]);
        self.reply(id, &json!({"locked": true}));
        self.flush().await;
    }

    /// Receives a request of a method.
    pub(super) async fn request(&mut self, expected: &str) -> (Value, Vec<Value>) {
        match self.receive().await {
            RpcMessage::Request { id, method, params } if method == expected => (id, params),
            other => panic!("expected {expected}, not {other:?}"),
        }
    }

    /// Receives any message.
    pub(super) async fn receive(&mut self) -> RpcMessage {
        match self.early.pop_front() {
            Some(message) => message,
            None => within(self.connection.receive()).await.unwrap(),
        }
    }

    pub(super) fn reply(&mut self, id: Value, result: &Value) {
        self.connection.send(&RpcMessage::Reply { id, result: Ok(result.clone()) });
    }

    pub(super) fn notify(&mut self, method: &str, params: Value) {
        let Value::Array(params) = params else { panic!("params are an array") };
        self.connection.send(&RpcMessage::Notification { method: method.to_owned(), params });
    }

    pub(super) fn send_text(&mut self, text: &str) {
        self.connection.send_text(text);
    }

    pub(super) fn send(&mut self, message: &RpcMessage) {
        self.connection.send(message);
    }

    /// Sends queued messages: they fit into the buffer of the socket.
    pub(super) async fn flush(&mut self) {
        let received = timeout(Duration::from_millis(20), self.connection.receive()).await;
        self.early.extend(received.ok().and_then(Result::ok));
    }

    /// Checks that the client sends nothing for a moment.
    pub(super) async fn expect_nothing(&mut self) {
        self.flush().await;
        assert_eq!(self.early, []);
    }
}

async fn within<T>(future: impl Future<Output = T>) -> T {
    timeout(DEADLINE, future).await.expect("the client does its part within the deadline")
}

pub(super) fn row_id(number: usize) -> RowUuid {
    RowUuid::from_bits(100 + number as u128)
}

pub(super) fn transaction_id(number: u128) -> String {
    RowUuid::from_bits(number).to_string()
}

/// Returns the initial rows of bridges.
pub(super) fn bridges(names: &[&str]) -> Value {
    let row =
        |(number, name): (usize, &&str)| (row_id(number).to_string(), json!({"initial": {"name": name}}));
    json!({"Bridge": names.iter().enumerate().map(row).collect::<Map<_, _>>()})
}
