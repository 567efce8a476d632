//! A simulated OVS database with a simple ovs-vswitchd, for tests without root.
//!
//! [`FakeDatabase`] interprets the operations of transactions as ovsdb-server does: named rows,
//! conditions, `wait`, references and their garbage collection, unique names. Its switch gives
//! numbers to ports and follows `next_cfg`. Faults are injected by the methods of [`FakeDatabase`].

mod client;
mod execute;
mod integrity;
mod state;
mod switch;
#[cfg(test)]
mod tests;

use std::sync::Arc;
use std::time::Duration;

use machinery::sync::Mutex;
use serde_json::Value;

pub use client::FakeClient;
use state::FakeState;

use super::error::TransactError;
use super::outcome::Committed;
use super::rows::Rows;
use super::transaction::Transaction;

/// A simulated database. Clones are the same database.
#[derive(Clone, Debug, Default)]
pub struct FakeDatabase {
    state: Arc<Mutex<FakeState>>,
}

/// A fault of one transaction.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum FakeFault {
    /// The commit fails with an error of RFC 7047 and its details.
    RefuseCommit(String, String),
    /// The connection of the client breaks after the transaction was sent, and is then reopened.
    LoseReply {
        /// Whether the transaction is committed.
        committed: bool,
    },
}

impl FakeDatabase {
    /// Makes an initialised database without bridges, with a running switch.
    #[must_use]
    pub fn new() -> Self {
        Self::default()
    }

    /// Connects a client, which enters the wait queue of `lock`.
    #[must_use]
    pub fn client(&self, lock: &str) -> FakeClient {
        FakeClient::new(self.state.clone(), lock)
    }

    /// Returns the current rows.
    #[must_use]
    pub fn rows(&self) -> Arc<Rows> {
        self.state.lock().rows()
    }

    /// Commits a transaction of another client, without a lock: a change by hand.
    ///
    /// # Errors
    /// The database refuses it.
    pub fn edit(&self, transaction: &Transaction) -> Result<Committed, TransactError> {
        self.state.lock().commit(transaction)
    }

    /// Stops the server: clients are disconnected, and rows stay.
    pub fn stop(&self) {
        self.state.lock().stop();
    }

    /// Starts the server.
    pub fn start(&self) {
        self.state.lock().start();
    }

    /// Replaces the database by an empty, initialised one.
    pub fn lose_data(&self) {
        self.state.lock().lose_data();
    }

    /// Injects a fault into the next transaction of a client; several into as many transactions.
    pub fn inject(&self, fault: FakeFault) {
        self.state.lock().faults.push_back(fault);
    }

    /// Delays replies to clients. Rows are changed before the delay.
    pub fn delay_replies(&self, delay: Duration) {
        self.state.lock().reply_delay = delay;
    }

    /// Lets another client steal a lock, and keep it until [`release_lock`](Self::release_lock).
    pub fn steal_lock(&self, lock: &str) {
        self.state.lock().steal_lock(lock);
    }

    /// Releases a stolen lock.
    pub fn release_lock(&self, lock: &str) {
        self.state.lock().release_lock(lock);
    }

    /// Returns the parameters of all `transact` requests of clients, also of failed ones.
    #[must_use]
    pub fn requests(&self) -> Vec<Value> {
        self.state.lock().requests.clone()
    }

    /// Returns the number of committed transactions of clients.
    #[must_use]
    pub fn commits(&self) -> u64 {
        self.state.lock().commits
    }

    /// Kills ovs-vswitchd: rows are no longer applied.
    pub fn stop_switch(&self) {
        self.state.lock().stop_switch();
    }

    /// Starts ovs-vswitchd: every internal port gets a new device in the namespace of the switch.
    pub fn start_switch(&self) {
        self.state.lock().start_switch();
    }

    /// Lets the creation of interfaces with this name fail with an error text.
    pub fn refuse_interface(&self, name: &str, error: &str) {
        self.state.lock().switch.refuse(name, error);
    }

    /// Lets the creation of interfaces with this name succeed: those that exist are created when
    /// their row is rewritten.
    pub fn accept_interface(&self, name: &str) {
        self.state.lock().switch.accept(name);
    }
}
