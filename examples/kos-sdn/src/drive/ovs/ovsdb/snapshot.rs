//! The state of a database as a client knows it.

use std::sync::Arc;

use super::rows::Rows;

/// The rows, the connection and the lock at one moment.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct DatabaseSnapshot {
    /// Increases with each change of anything here.
    pub version: u64,
    /// Increases whenever rows were replaced instead of updated: when the server does not know the
    /// last transaction. A standalone ovsdb-server keeps no history, so that it does so at each
    /// connection. After the loss of the database, the row of `Open_vSwitch` has another UUID.
    pub epoch: u64,
    /// Increases with each established connection, also to the same server.
    pub sessions: u64,
    /// The connection.
    pub connection: ConnectionState,
    /// The lock.
    pub lock: LockState,
    /// The rows. While disconnected, the latest known ones.
    pub rows: Arc<Rows>,
}

/// The state of a connection.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum ConnectionState {
    /// Rows follow the database.
    Connected,
    /// Rows may be out of date.
    Disconnected {
        /// The cause, with its remedy.
        reason: String,
    },
}

/// The state of the lock of this client.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum LockState {
    /// The lock was not yet requested on this connection, or its reply is outstanding.
    Unknown,
    /// Another client holds the lock; this one is in its wait queue.
    Waiting,
    /// This client holds the lock.
    Owned,
}

impl DatabaseSnapshot {
    /// Returns whether rows follow the database, and this client may write.
    #[must_use]
    pub fn is_writable(&self) -> bool {
        self.connection == ConnectionState::Connected && self.lock == LockState::Owned
    }
}

impl Default for DatabaseSnapshot {
    fn default() -> Self {
        Self {
            version: 0,
            epoch: 0,
            sessions: 0,
            connection: ConnectionState::Disconnected { reason: "not yet connected".to_owned() },
            lock: LockState::Unknown,
            rows: Arc::default(),
        }
    }
}
