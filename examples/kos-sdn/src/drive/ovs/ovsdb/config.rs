//! Settings and limits of a client.

use std::path::PathBuf;
use std::time::Duration;

/// The settings of an [`OvsdbClient`](super::OvsdbClient).
#[derive(Clone, Debug)]
pub struct OvsdbConfig {
    /// Path of the unix socket of ovsdb-server.
    pub socket: PathBuf,
    /// The lock asserted in each transaction.
    pub lock: LockName,
    /// Size limit of a received message, in bytes.
    pub message_bytes: usize,
    /// Size limit of a transaction, in bytes.
    pub transaction_bytes: usize,
    /// Limit of rows in the cache.
    pub rows: usize,
    /// Limit of transactions in flight.
    pub in_flight: usize,
    /// Time without a received byte after which the server is probed.
    pub probe_after: Duration,
    /// Time without a received byte after which the connection is closed.
    pub silence: Duration,
    /// Time limit of a connection until its rows are known, and of a transaction until its reply.
    pub reply: Duration,
    /// First delay before a reconnect; it doubles with each failure.
    pub backoff_min: Duration,
    /// Longest delay before a reconnect.
    pub backoff_max: Duration,
}

/// The name of a lock of the database: a letter or `_`, then letters, digits and `_`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct LockName(String);

/// A text is no name of a lock.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{0:?} is no name of a lock: it needs a letter or _, then letters, digits and _")]
pub struct LockNameError(String);

impl OvsdbConfig {
    /// Makes settings with the default limits.
    pub fn new(socket: impl Into<PathBuf>, lock: LockName) -> Self {
        Self {
            socket: socket.into(),
            lock,
            message_bytes: 64 << 20,
            transaction_bytes: 16 << 20,
            rows: 200_000,
            in_flight: 64,
            probe_after: Duration::from_secs(3),
            silence: Duration::from_secs(8),
            reply: Duration::from_secs(30),
            backoff_min: Duration::from_millis(50),
            backoff_max: Duration::from_secs(1),
        }
    }
}

impl LockName {
    /// Checks a name.
    ///
    /// # Errors
    /// It is empty or has other characters.
    pub fn new(name: impl Into<String>) -> Result<Self, LockNameError> {
        let name = name.into();
        let begins = name.starts_with(|first: char| first.is_ascii_alphabetic() || first == '_');
        if begins && name.bytes().all(|byte| byte.is_ascii_alphanumeric() || byte == b'_') {
            Ok(Self(name))
        } else {
            Err(LockNameError(name))
        }
    }

    /// Returns the name.
    #[must_use]
    pub fn as_str(&self) -> &str {
        &self.0
    }
}
