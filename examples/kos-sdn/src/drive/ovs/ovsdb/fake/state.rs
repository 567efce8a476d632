//! The state of the simulated database: rows, clients and locks.

use std::collections::{BTreeMap, VecDeque};
use std::sync::Arc;
use std::time::Duration;

use serde_json::Value;

use super::FakeFault;
use super::execute::{UuidSource, execute};
use super::integrity::check_references;
use super::switch::FakeVswitchd;
use crate::drive::ovs::ovsdb::error::TransactError;
use crate::drive::ovs::ovsdb::outcome::Committed;
use crate::drive::ovs::ovsdb::publisher::SnapshotPublisher;
use crate::drive::ovs::ovsdb::row_store::{RawRow, RowStore};
use crate::drive::ovs::ovsdb::rows::Rows;
use crate::drive::ovs::ovsdb::snapshot::{ConnectionState, LockState};
use crate::drive::ovs::ovsdb::tables::OvsdbTable;
use crate::drive::ovs::ovsdb::transaction::Transaction;

/// The thief of a lock: no client has this number.
const THIEF: u64 = 0;

/// The simulated database.
#[derive(Debug)]
pub(super) struct FakeState {
    store: RowStore,
    uuids: UuidSource,
    clients: BTreeMap<u64, FakeSession>,
    /// The wait queue of each lock; the first one holds it.
    locks: BTreeMap<String, VecDeque<u64>>,
    next_client: u64,
    running: bool,
    pub(super) faults: VecDeque<FakeFault>,
    pub(super) reply_delay: Duration,
    pub(super) requests: Vec<Value>,
    pub(super) commits: u64,
    pub(super) switch: FakeVswitchd,
}

#[derive(Debug)]
struct FakeSession {
    lock: String,
    publisher: Arc<SnapshotPublisher>,
}

impl Default for FakeState {
    fn default() -> Self {
        let mut state = Self {
            store: RowStore::default(),
            uuids: UuidSource::default(),
            clients: BTreeMap::new(),
            locks: BTreeMap::new(),
            next_client: THIEF + 1,
            running: true,
            faults: VecDeque::new(),
            reply_delay: Duration::ZERO,
            requests: Vec::new(),
            commits: 0,
            switch: FakeVswitchd::default(),
        };
        state.initialise();
        state
    }
}

impl FakeState {
    pub(super) fn rows(&self) -> Arc<Rows> {
        self.store.rows()
    }

    pub(super) fn connect(&mut self, lock: &str) -> (u64, Arc<SnapshotPublisher>) {
        let (id, publisher) = (self.next_client, Arc::<SnapshotPublisher>::default());
        self.next_client += 1;
        self.clients.insert(id, FakeSession { lock: lock.to_owned(), publisher: publisher.clone() });
        if self.running {
            self.open_session(id);
        }
        (id, publisher)
    }

    pub(super) fn disconnect(&mut self, id: u64) {
        self.clients.remove(&id);
        self.leave_locks(id);
        self.publish();
    }

    pub(super) fn transact(
        &mut self,
        id: u64,
        transaction: &Transaction,
    ) -> Result<Committed, TransactError> {
        let lock = self.clients.get(&id).map_or_else(String::new, |session| session.lock.clone());
        if !self.running {
            return Err(TransactError::Disconnected { reason: "the database is stopped".to_owned() });
        }
        self.requests.push(transaction.checked_params(&lock)?);
        if !self.owns(id, &lock) {
            return Err(TransactError::LockNotOwned { lock });
        }
        match self.faults.pop_front() {
            Some(FakeFault::RefuseCommit(error, details)) => {
                Err(TransactError::Refused { operation: None, error, details })
            }
            Some(FakeFault::LoseReply { committed }) => {
                if committed && self.commit(transaction).is_ok() {
                    self.commits += 1;
                }
                self.close_session(id, "the connection was closed");
                self.open_session(id);
                Err(TransactError::OutcomeUnknown { reason: "the connection was closed".to_owned() })
            }
            None => {
                let committed = self.commit(transaction)?;
                self.commits += 1;
                Ok(committed)
            }
        }
    }

    /// Commits a transaction without a lock, and lets the switch apply it.
    pub(super) fn commit(&mut self, transaction: &Transaction) -> Result<Committed, TransactError> {
        let mut store = self.store.clone();
        let committed = execute(&mut store, &mut self.uuids, transaction)?;
        check_references(&mut store)?;
        self.store = store;
        self.publish();
        self.run_switch();
        Ok(committed)
    }

    pub(super) fn stop(&mut self) {
        self.running = false;
        self.locks.clear();
        for id in self.client_ids() {
            self.close_session(id, "the database is stopped");
        }
    }

    pub(super) fn start(&mut self) {
        self.running = true;
        for id in self.client_ids() {
            self.open_session(id);
        }
    }

    pub(super) fn lose_data(&mut self) {
        self.stop();
        self.store = RowStore::default();
        self.initialise();
        self.running = true;
        for id in self.client_ids() {
            self.open_session(id);
        }
    }

    pub(super) fn steal_lock(&mut self, lock: &str) {
        self.locks.entry(lock.to_owned()).or_default().push_front(THIEF);
        self.publish();
    }

    pub(super) fn release_lock(&mut self, lock: &str) {
        if let Some(queue) = self.locks.get_mut(lock) {
            queue.retain(|id| *id != THIEF);
        }
        self.publish();
    }

    pub(super) fn stop_switch(&mut self) {
        self.switch.stop();
    }

    pub(super) fn start_switch(&mut self) {
        self.switch.start(&mut self.store);
        self.publish();
    }

    fn initialise(&mut self) {
        let uuid = self.uuids.next();
        self.store.put(OvsdbTable::Root, uuid, Some(RawRow::new()));
        self.switch.forget();
        self.run_switch();
    }

    fn run_switch(&mut self) {
        self.switch.apply(&mut self.store);
        self.publish();
    }

    /// Connects a client: it gets the rows, and enters the wait queue of its lock.
    fn open_session(&mut self, id: u64) {
        let Some(session) = self.clients.get(&id) else { return };
        self.locks.entry(session.lock.clone()).or_default().push_back(id);
        session.publisher.change(|snapshot| {
            snapshot.connection = ConnectionState::Connected;
            snapshot.sessions += 1;
            snapshot.epoch += 1; // a standalone ovsdb-server keeps no history
        });
        self.publish();
    }

    fn close_session(&mut self, id: u64, reason: &str) {
        self.leave_locks(id);
        let Some(session) = self.clients.get(&id) else { return };
        session.publisher.change(|snapshot| {
            snapshot.connection = ConnectionState::Disconnected { reason: reason.to_owned() };
            snapshot.lock = LockState::Unknown;
        });
    }

    fn leave_locks(&mut self, id: u64) {
        for queue in self.locks.values_mut() {
            queue.retain(|waiter| *waiter != id);
        }
    }

    fn client_ids(&self) -> Vec<u64> {
        self.clients.keys().copied().collect()
    }

    fn owns(&self, id: u64, lock: &str) -> bool {
        self.locks.get(lock).and_then(VecDeque::front) == Some(&id)
    }

    /// Notifies all connected clients of the rows and of their locks.
    fn publish(&self) {
        if !self.running {
            return;
        }
        let rows = self.store.rows();
        for (id, session) in &self.clients {
            let lock = if self.owns(*id, &session.lock) { LockState::Owned } else { LockState::Waiting };
            session.publisher.change(|snapshot| {
                snapshot.rows = rows.clone();
                snapshot.lock = lock;
            });
        }
    }
}
