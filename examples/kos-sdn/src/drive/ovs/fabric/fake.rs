//! A simulated Open vSwitch: database, flows and links that belong together, for tests without
//! root.

use std::collections::BTreeMap;
use std::net::Ipv4Addr;
use std::sync::Arc;

use async_trait::async_trait;
use machinery::sync::Mutex;

use super::SwitchConnections;
use crate::drive::ovs::control::FakeControl;
use crate::drive::ovs::links::{FakeLinks, InterfaceAddress};
use crate::drive::ovs::openflow::{FakeSwitch, FlowChange, OpaqueFlow};
use crate::drive::ovs::ovsdb::fake::{FakeClient, FakeDatabase};
use crate::drive::ovs::ovsdb::{Committed, Database, DatabaseSnapshot, Rows, TransactError, Transaction};
use crate::plan::Port;

/// A simulated switch. Clones are the same switch.
#[derive(Clone, Debug)]
pub struct FakeOvs {
    /// The database.
    pub database: FakeDatabase,
    /// The flows of the bridge.
    pub flows: FakeSwitch,
    /// Commands of ovs-vswitchd.
    pub control: FakeControl,
    /// Links and namespaces.
    pub links: Arc<FakeLinks>,
    bridge: String,
    applied: Arc<Mutex<AppliedRows>>,
}

/// The rows that the simulated ovs-vswitchd has applied to the bridge.
#[derive(Debug, Default)]
struct AppliedRows {
    is_stopped: bool,
    ports: BTreeMap<String, (Port, bool)>,
    fail_mode: Option<String>,
}

impl FakeOvs {
    /// Creates a switch without bridges, whose namespace has an underlay link.
    #[must_use]
    pub fn new(bridge: &str, host: Ipv4Addr, mtu: u32) -> Self {
        let host = InterfaceAddress { address: host, prefix: 24 };
        Self {
            database: FakeDatabase::new(),
            flows: FakeSwitch::new(),
            control: FakeControl::new(),
            links: Arc::new(FakeLinks::new(host, mtu)),
            bridge: bridge.into(),
            applied: Arc::default(),
        }
    }

    /// Connects a client, which enters the wait queue of a lock.
    #[must_use]
    pub fn connect(&self, lock: &str) -> SwitchConnections {
        SwitchConnections {
            database: Arc::new(JoinedDatabase { client: self.database.client(lock), ovs: self.clone() }),
            flows: Arc::new(self.flows.clone()),
            control: Arc::new(self.control.clone()),
            links: self.links.clone(),
            lock: lock.into(),
        }
    }

    /// Commits a transaction by hand.
    ///
    /// # Errors
    /// The database refuses it.
    pub fn edit(&self, transaction: &Transaction) -> Result<Committed, TransactError> {
        let committed = self.database.edit(transaction);
        self.apply_rows();
        committed
    }

    /// Empties the database, as after the loss of its file.
    pub fn lose_data(&self) {
        self.database.lose_data();
        self.apply_rows();
    }

    /// Kills ovs-vswitchd.
    pub fn kill_switch(&self) {
        let mut applied = self.applied.lock();
        applied.is_stopped = true;
        for (_, (number, _)) in std::mem::take(&mut applied.ports) {
            self.flows.remove_port(number);
        }
        drop(applied);
        self.database.stop_switch();
        self.flows.disconnect();
        self.links.kill_switch();
    }

    /// Starts ovs-vswitchd after [`kill_switch`](Self::kill_switch): flows are lost, and each
    /// internal port has a new device.
    pub fn start_switch(&self) {
        self.applied.lock().is_stopped = false;
        self.links.start_switch();
        self.database.start_switch();
        self.apply_rows();
        self.flows.restart();
    }

    /// Applies rows to flows and links.
    fn apply_rows(&self) {
        let mut applied = self.applied.lock();
        if applied.is_stopped {
            return;
        }
        let rows = self.database.rows();
        let now = ports_of(&rows, &self.bridge);
        let before = std::mem::replace(&mut applied.ports, now.clone());
        for (name, (number, is_internal)) in &before {
            if now.get(name) != Some(&(*number, *is_internal)) {
                self.flows.remove_port(*number);
                if *is_internal {
                    self.links.remove_port(name);
                }
            }
        }
        for (name, (number, is_internal)) in &now {
            if before.get(name) != Some(&(*number, *is_internal)) {
                self.flows.add_port(*number, name);
                if *is_internal {
                    self.links.add_port(name);
                }
            }
        }
        let fail_mode = rows.bridge(&self.bridge).and_then(|bridge| bridge.fail_mode.clone());
        if applied.fail_mode != fail_mode {
            let was_set = std::mem::replace(&mut applied.fail_mode, fail_mode.clone()).is_some();
            if was_set {
                self.flows.change_by_others(&FlowChange::DeleteByCookie { cookie: 0, mask: 0 });
            }
            if was_set && fail_mode.as_deref() == Some("standalone") {
                let normal = OpaqueFlow { table: 0, priority: 0, cookie: 0, oxm: Vec::new() };
                self.flows.add_opaque(normal);
            }
        }
    }
}

fn ports_of(rows: &Rows, bridge: &str) -> BTreeMap<String, (Port, bool)> {
    let Some(bridge) = rows.bridge(bridge) else { return BTreeMap::new() };
    let interfaces = rows.ports_of(bridge).flat_map(|port| rows.interfaces_of(port));
    interfaces
        .filter_map(|row| {
            let number = u32::try_from(row.ofport?).ok()?;
            Some((row.name.clone(), (Port(number), row.kind == "internal")))
        })
        .collect()
}

/// A client of the database whose transactions change flows and links.
struct JoinedDatabase {
    client: FakeClient,
    ovs: FakeOvs,
}

#[async_trait]
impl Database for JoinedDatabase {
    fn snapshot(&self) -> Arc<DatabaseSnapshot> {
        self.client.snapshot()
    }

    async fn changed(&self, version: u64) -> Arc<DatabaseSnapshot> {
        self.client.changed(version).await
    }

    async fn transact(&self, transaction: Transaction) -> Result<Committed, TransactError> {
        let committed = self.client.transact(transaction).await;
        self.ovs.apply_rows();
        committed
    }
}
