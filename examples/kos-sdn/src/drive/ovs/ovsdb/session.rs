//! The protocol of one connection, without input and output.

use std::collections::BTreeMap;

use serde_json::{Value, json};

use super::cache::RowCache;
use super::schema::check_schema;
use super::snapshot::LockState;
use super::tables::OvsdbTable;
use crate::drive::ovs::json_rpc::RpcMessage;

/// The state of a connection to ovsdb-server.
#[derive(Debug)]
pub(super) struct Session {
    lock: String,
    lock_state: LockState,
    monitoring: bool,
    next_id: u64,
    pending: BTreeMap<u64, PendingRequest>,
}

#[derive(Debug, PartialEq, Eq)]
enum PendingRequest {
    Schema,
    Monitor,
    Lock,
    Echo,
    Transact,
}

/// The effect of a received message.
#[derive(Debug, PartialEq)]
pub(super) enum SessionEvent {
    /// A message to send.
    Send(RpcMessage),
    /// The cache, or the state of the lock, was changed.
    Changed,
    /// The reply to a transaction.
    Reply {
        /// The number returned by [`Session::transact`].
        id: u64,
        /// The result, or the error.
        result: Result<Value, Value>,
    },
    /// Nothing.
    Nothing,
}

/// The reason why a connection cannot be used, and is reopened.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum SessionError {
    /// A message has an unexpected form.
    #[error("the OVS database sent an unexpected message: {reason}")]
    Malformed {
        /// The cause.
        reason: String,
    },
    /// The schema lacks a column.
    #[error(
        "the OVS database has no usable column {column} in table {table}: update Open vSwitch to 2.12 or \
         later, and convert the database"
    )]
    MissingColumn {
        /// Name of the table.
        table: &'static str,
        /// Name of the column.
        column: &'static str,
    },
    /// The server refused a request of the client itself.
    #[error("the OVS database refused {method}: {error}; Open vSwitch 2.12 or later is needed")]
    Refused {
        /// The method.
        method: &'static str,
        /// Its error.
        error: String,
    },
    /// The database has too many rows.
    #[error("the OVS database has more than {limit} rows: raise the limit")]
    TooManyRows {
        /// The limit.
        limit: usize,
    },
}

/// Name of the monitor.
const MONITOR: &str = "kos";

impl Session {
    /// Begins a session, and returns its first messages.
    pub(super) fn begin(lock: &str, cache: &RowCache) -> (Self, Vec<RpcMessage>) {
        let mut session = Self {
            lock: lock.to_owned(),
            lock_state: LockState::Unknown,
            monitoring: false,
            next_id: 1,
            pending: BTreeMap::new(),
        };
        let monitor =
            vec![json!("Open_vSwitch"), json!(MONITOR), selection(), json!(cache.last_transaction())];
        let messages = vec![
            session.request(PendingRequest::Schema, "get_schema", vec![json!("Open_vSwitch")]).1,
            session.request(PendingRequest::Monitor, "monitor_cond_since", monitor).1,
            session.request(PendingRequest::Lock, "lock", vec![json!(lock)]).1,
        ];
        (session, messages)
    }

    /// Returns whether the cache follows the database.
    pub(super) const fn is_monitoring(&self) -> bool {
        self.monitoring
    }

    pub(super) const fn lock_state(&self) -> LockState {
        self.lock_state
    }

    /// The server refused an assertion: its notification is on the way.
    pub(super) fn lock_was_refused(&mut self) {
        self.lock_state = LockState::Waiting;
    }

    /// Makes a probe that the server must answer.
    pub(super) fn echo(&mut self) -> RpcMessage {
        self.request(PendingRequest::Echo, "echo", Vec::new()).1
    }

    /// Returns whether a probe is unanswered.
    pub(super) fn is_probing(&self) -> bool {
        self.pending.values().any(|pending| *pending == PendingRequest::Echo)
    }

    /// Makes the request of a transaction, and returns its number.
    pub(super) fn transact(&mut self) -> u64 {
        self.request(PendingRequest::Transact, "transact", Vec::new()).0
    }

    /// Handles a message.
    pub(super) fn receive(
        &mut self,
        message: RpcMessage,
        cache: &mut RowCache,
    ) -> Result<SessionEvent, SessionError> {
        match message {
            RpcMessage::Request { id, method, params } => {
                let known = method == "echo";
                let result = if known { Ok(Value::Array(params)) } else { Err(json!("unknown method")) };
                Ok(SessionEvent::Send(RpcMessage::Reply { id, result }))
            }
            RpcMessage::Notification { method, params } => self.notified(&method, &params, cache),
            RpcMessage::Reply { id, result } => {
                let pending = id.as_u64().and_then(|id| Some((id, self.pending.remove(&id)?)));
                let Some((id, pending)) = pending else { return Err(malformed("a reply to no request")) };
                self.replied(id, &pending, result, cache)
            }
        }
    }

    fn replied(
        &mut self,
        id: u64,
        pending: &PendingRequest,
        result: Result<Value, Value>,
        cache: &mut RowCache,
    ) -> Result<SessionEvent, SessionError> {
        match pending {
            PendingRequest::Transact => return Ok(SessionEvent::Reply { id, result }),
            PendingRequest::Echo => return Ok(SessionEvent::Nothing),
            PendingRequest::Schema => {
                check_schema(&accepted("get_schema", result)?)?;
                return Ok(SessionEvent::Nothing);
            }
            PendingRequest::Monitor => {
                let reply = accepted("monitor_cond_since", result)?;
                if self.pending.values().any(|pending| *pending == PendingRequest::Schema) {
                    return Err(malformed("the reply to get_schema is missing"));
                }
                cache.begin(&reply)?;
                self.monitoring = true;
            }
            PendingRequest::Lock => {
                let reply = accepted("lock", result)?;
                let locked = reply.get("locked").and_then(Value::as_bool);
                let locked = locked.ok_or_else(|| malformed("the reply to lock is malformed"))?;
                // The notification `locked` may precede a reply that the lock is held by another.
                if locked || self.lock_state == LockState::Unknown {
                    self.lock_state = if locked { LockState::Owned } else { LockState::Waiting };
                }
            }
        }
        Ok(SessionEvent::Changed)
    }

    fn notified(
        &mut self,
        method: &str,
        params: &[Value],
        cache: &mut RowCache,
    ) -> Result<SessionEvent, SessionError> {
        let names_lock = params.first().and_then(Value::as_str) == Some(self.lock.as_str());
        match method {
            "update3" => {
                let [Value::String(monitor), Value::String(last), updates] = params else {
                    return Err(malformed("update3 has not three parameters"));
                };
                if monitor != MONITOR || !self.monitoring {
                    return Err(malformed("a notification of an unknown monitor"));
                }
                cache.update(last, updates)?;
            }
            "locked" if names_lock => self.lock_state = LockState::Owned,
            "stolen" if names_lock => self.lock_state = LockState::Waiting,
            "locked" | "stolen" => return Err(malformed("a notification of another lock")),
            _ => return Ok(SessionEvent::Nothing),
        }
        Ok(SessionEvent::Changed)
    }

    fn request(&mut self, pending: PendingRequest, method: &str, params: Vec<Value>) -> (u64, RpcMessage) {
        let id = self.next_id;
        self.next_id += 1;
        self.pending.insert(id, pending);
        (id, RpcMessage::request(id, method, params))
    }
}

/// Returns the tables and columns of the monitor.
fn selection() -> Value {
    let tables = OvsdbTable::ALL.into_iter().map(|table| {
        let columns: Vec<_> = table.columns().iter().map(|column| column.name).collect();
        (table.name().to_owned(), json!([{"columns": columns, "where": [true]}]))
    });
    Value::Object(tables.collect())
}

fn accepted(method: &'static str, result: Result<Value, Value>) -> Result<Value, SessionError> {
    result.map_err(|error| SessionError::Refused { method, error: short(&error) })
}

/// Limits the text of an error to a line.
pub(super) fn short(error: &Value) -> String {
    let text = error.as_str().map_or_else(|| error.to_string(), str::to_owned);
    text.chars().take(300).collect()
}

fn malformed(reason: &'static str) -> SessionError {
    SessionError::Malformed { reason: reason.to_owned() }
}
