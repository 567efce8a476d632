//! The client of ovsdb-server against the genuine one, and a genuine ovs-vswitchd whose datapath is
//! a dummy: no root is needed. Skipped with a message if Open vSwitch is not installed.

use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::sync::Arc;
use std::time::Duration;

use kos::drive::ovs::control::{self, Control, ControlSocket};
use kos::drive::ovs::ovsdb::{
    Condition, ConnectionState, Database, DatabaseSnapshot, Datum, LockName, LockState, Mutation,
    OvsdbClient, OvsdbConfig, RowValues, Table, TransactError, Transaction, applied,
};
use machinery::tokio;
use machinery::tokio::time::timeout;
use machinery::tokio_util::sync::{CancellationToken, DropGuard};
use machinery::tokio_util::task::TaskTracker;
use tempfile::TempDir;

use crate::harness::DEADLINE;

const SCHEMA: &str = "/usr/share/openvswitch/vswitch.ovsschema";

/// The daemons in a run directory, killed on drop.
struct OvsDaemons {
    run_dir: TempDir,
    server: Option<Daemon>,
    switch: Option<Daemon>,
}

struct Daemon(Child);

impl Drop for Daemon {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

impl OvsDaemons {
    /// Starts ovsdb-server; `None` if it is not installed.
    fn start() -> Option<Self> {
        let run_dir = tempfile::tempdir().unwrap();
        let mut daemons = Self { run_dir, server: None, switch: None };
        if let Err(missing) = daemons.create_database() {
            println!("SKIPPED: {missing}: install openvswitch-switch");
            return None;
        }
        daemons.start_server();
        Some(daemons)
    }

    fn path(&self, name: &str) -> PathBuf {
        self.run_dir.path().join(name)
    }

    fn create_database(&self) -> Result<(), String> {
        if !Path::new(SCHEMA).exists() {
            return Err(format!("there is no {SCHEMA}"));
        }
        let created = Command::new("ovsdb-tool").arg("create").arg(self.path("conf.db")).arg(SCHEMA).status();
        let created = created.map_err(|error| format!("ovsdb-tool does not start: {error}"))?;
        assert!(created.success());
        Ok(())
    }

    fn daemon(&self, program: &str, name: &str, arguments: &[String]) -> Daemon {
        let (directory, log) =
            (self.run_dir.path(), std::fs::File::create(self.path(&format!("{name}.log"))));
        let mut command = Command::new(program);
        for variable in ["OVS_RUNDIR", "OVS_LOGDIR", "OVS_DBDIR"] {
            command.env(variable, directory);
        }
        let pid = format!("--pidfile={}", self.path(&format!("{name}.pid")).display());
        let path = std::env::var("PATH").unwrap_or_default() + ":/usr/sbin:/sbin";
        command.args(arguments).arg(pid).env("PATH", path).stdout(Stdio::null()).stderr(log.unwrap());
        Daemon(command.spawn().unwrap())
    }

    fn start_server(&mut self) {
        let arguments = [
            self.path("conf.db").display().to_string(),
            format!("--remote=punix:{}", self.path("db.sock").display()),
            format!("--unixctl={}", self.path("ovsdb.ctl").display()),
        ];
        self.server = Some(self.daemon("ovsdb-server", "ovsdb-server", &arguments));
    }

    fn start_switch(&mut self) {
        let arguments = [
            format!("unix:{}", self.path("db.sock").display()),
            format!("--unixctl={}", self.path("vswitchd.ctl").display()),
            "--enable-dummy=override".to_owned(),
            "--disable-system".to_owned(),
        ];
        self.switch = Some(self.daemon("ovs-vswitchd", "ovs-vswitchd", &arguments));
    }

    fn client(&self) -> ConnectedClient {
        let config = OvsdbConfig::new(self.path("db.sock"), LockName::new("kos_test").unwrap());
        let (database, runner) = OvsdbClient::new(config);
        let stopping = CancellationToken::new();
        TaskTracker::new().spawn(runner.run(stopping.clone()));
        ConnectedClient { database: Arc::new(database), _stop: stopping.drop_guard() }
    }
}

struct ConnectedClient {
    database: Arc<OvsdbClient>,
    _stop: DropGuard,
}

impl ConnectedClient {
    async fn until(&self, holds: impl Fn(&DatabaseSnapshot) -> bool) -> Arc<DatabaseSnapshot> {
        let wait = async {
            let mut snapshot = self.database.snapshot();
            while !holds(&snapshot) {
                snapshot = self.database.changed(snapshot.version).await;
            }
            snapshot
        };
        let waited = timeout(DEADLINE, wait).await;
        waited.unwrap_or_else(|_| panic!("the state stays {:?}", self.database.snapshot()))
    }

    /// Waits for the lock, and creates the row of `Open_vSwitch`, as `ovs-vsctl init` does.
    async fn initialise(&self) {
        self.until(DatabaseSnapshot::is_writable).await;
        let mut transaction = Transaction::new();
        transaction.insert(Table::Root, "root", RowValues::new());
        self.database.transact(transaction).await.unwrap();
    }

    async fn add_bridge(&self, name: &str, ports: &[&str]) -> Result<Option<i64>, TransactError> {
        let root = self.database.snapshot().rows.root().unwrap().uuid;
        let mut transaction = Transaction::new().with_next_cfg();
        transaction.expect_none(Table::Bridge, Condition::equal("name", name));
        let mut references = Vec::new();
        for (number, port) in ports.iter().enumerate() {
            let row = RowValues::new().with("name", *port).with("type", "internal");
            let interface = transaction.insert(Table::Interface, format!("i{number}"), row);
            let marks = Datum::map([("kos-text", "\"quotes\\ and \u{1}\u{7f} é 😀\n")]);
            let row = RowValues::new().with("name", *port).with("interfaces", interface);
            let port = transaction.insert(Table::Port, format!("p{number}"), row.with("external_ids", marks));
            references.extend(port.atoms().cloned());
        }
        let row = RowValues::new().with("name", name).with("ports", Datum::set(references));
        let row = row.with("datapath_type", "dummy").with("fail_mode", "secure");
        let bridge = transaction.insert(Table::Bridge, "b", row.with("protocols", "OpenFlow15"));
        transaction.mutate(Table::Root, root, vec![Mutation::insert("bridges", bridge)]);
        Ok(self.database.transact(transaction).await?.next_cfg)
    }
}

#[tokio::test(crate = "machinery::tokio")]
async fn genuine_database_commits_and_notifies_transactions() {
    let Some(daemons) = OvsDaemons::start() else { return };
    let client = daemons.client();
    client.initialise().await;
    assert_eq!(client.add_bridge("kos", &["kos", "a", "b"]).await, Ok(Some(1)));
    // The notification precedes the reply, so that the rows are there.
    let rows = client.database.snapshot().rows.clone();
    let bridge = rows.bridge("kos").unwrap();
    assert_eq!(bridge.fail_mode.as_deref(), Some("secure"));
    assert_eq!(rows.ports_of(bridge).count(), 3);
    let port = rows.port("a").unwrap();
    assert_eq!(port.external_ids["kos-text"], "\"quotes\\ and \u{1}\u{7f} é 😀\n");
    assert_eq!(rows.interfaces_of(port).next().unwrap().kind, "internal");

    let again = client.add_bridge("kos", &["kos"]).await;
    assert_eq!(again, Err(TransactError::RowsChanged { operation: 0 }));
    let mut transaction = Transaction::new();
    transaction.update(Table::Bridge, bridge.uuid, RowValues::new().with("fail_mode", "nonsense"));
    let refused = client.database.transact(transaction).await;
    let expected = "constraint violation";
    assert!(
        matches!(&refused, Err(TransactError::Refused { operation: Some(0), error, .. }) if error == expected),
        "{refused:?}"
    );
    let mut transaction = Transaction::new();
    let missing = kos::drive::ovs::ovsdb::RowUuid::from_bits(7);
    transaction.mutate(Table::Bridge, bridge.uuid, vec![Mutation::insert("ports", missing)]);
    let refused = client.database.transact(transaction).await;
    assert!(matches!(&refused, Err(TransactError::Refused { operation: None, .. })), "{refused:?}");

    let mut transaction = Transaction::new();
    transaction.expect_row(Table::Bridge, bridge.uuid, RowValues::new().with("fail_mode", "secure"));
    transaction.mutate(Table::Bridge, bridge.uuid, vec![Mutation::delete("ports", port.uuid)]);
    transaction.mutate(
        Table::Port,
        port.uuid,
        vec![Mutation::delete("external_ids", Datum::set(["kos-text"]))],
    );
    client.database.transact(transaction).await.unwrap();
    let rows = client.database.snapshot().rows.clone();
    assert!(rows.port("a").is_none() && rows.interface("a").is_none());
    assert_eq!((rows.ports.len(), rows.interfaces.len()), (2, 2));
}

#[tokio::test(crate = "machinery::tokio")]
async fn rows_follow_a_genuine_database_across_restarts() {
    let Some(mut daemons) = OvsDaemons::start() else { return };
    let (writer, reader) = (daemons.client(), daemons.client());
    let root = RowValues::new();
    tokio::select! {
        biased;
        () = writer.initialise() => {}
        _ = reader.until(DatabaseSnapshot::is_writable) => {
            let mut transaction = Transaction::new();
            transaction.insert(Table::Root, "root", root);
            reader.database.transact(transaction).await.unwrap();
        }
    }
    let holder = if writer.database.snapshot().is_writable() { &writer } else { &reader };
    holder.until(|snapshot| snapshot.rows.root().is_some()).await;
    holder.add_bridge("kos", &["kos", "a"]).await.unwrap();
    for session in 2..4 {
        daemons.server = None; // SIGKILL
        for client in [&writer, &reader] {
            let lost = |it: &DatabaseSnapshot| matches!(it.connection, ConnectionState::Disconnected { .. });
            let snapshot = client.until(lost).await;
            assert!(snapshot.rows.bridge("kos").is_some());
            let result = client.database.transact(Transaction::new()).await;
            assert!(matches!(result, Err(TransactError::Disconnected { .. })), "{result:?}");
        }
        daemons.start_server();
        for client in [&writer, &reader] {
            let again =
                |it: &DatabaseSnapshot| it.sessions == session && it.connection == ConnectionState::Connected;
            let snapshot = client.until(again).await;
            assert_eq!(snapshot.rows.ports.len(), 2);
        }
    }
    daemons.server = None;
    std::fs::remove_file(daemons.path("conf.db")).unwrap();
    daemons.create_database().unwrap();
    daemons.start_server();
    let emptied =
        |it: &DatabaseSnapshot| it.connection == ConnectionState::Connected && it.rows.roots.is_empty();
    let snapshot = writer.until(emptied).await;
    assert!(snapshot.rows.bridges.is_empty() && snapshot.rows.interfaces.is_empty());
}

#[tokio::test(crate = "machinery::tokio")]
async fn a_second_client_of_a_genuine_database_waits_for_the_lock() {
    let Some(daemons) = OvsDaemons::start() else { return };
    let first = daemons.client();
    first.initialise().await;
    let second = daemons.client();
    second.until(|snapshot| snapshot.lock == LockState::Waiting).await;
    let result = second.add_bridge("kos", &["kos"]).await;
    assert_eq!(result, Err(TransactError::LockNotOwned { lock: "kos_test".to_owned() }));
    drop(first);
    second.until(DatabaseSnapshot::is_writable).await;
    second.add_bridge("kos", &["kos"]).await.unwrap();
}

#[tokio::test(crate = "machinery::tokio")]
async fn a_genuine_switch_applies_the_configuration() {
    let Some(mut daemons) = OvsDaemons::start() else { return };
    let client = daemons.client();
    client.initialise().await;
    let next_cfg = client.add_bridge("kos", &["kos", "a", "b"]).await.unwrap().unwrap();
    let late = applied(&*client.database, next_cfg, Duration::from_millis(10)).await;
    assert!(late.is_err(), "no switch runs: {late:?}");
    daemons.start_switch();
    let snapshot = applied(&*client.database, next_cfg, DEADLINE).await.unwrap();
    let numbers: Vec<_> = ["kos", "a", "b"].map(|name| snapshot.rows.interface(name).unwrap().ofport).into();
    assert_eq!(numbers[0], Some(65534));
    assert!(numbers[1..].iter().all(|number| number.is_some_and(|number| number > 0)), "{numbers:?}");

    let control = ControlSocket::new(daemons.run_dir.path(), DEADLINE);
    let version = control::version(&control).await.unwrap();
    assert!(version.contains("ovs-vswitchd"), "{version}");
    let traced = control::trace(&control, "kos", "in_port=a").await.unwrap();
    assert!(traced.contains("Datapath actions: drop"), "{traced}");
    let address = std::net::Ipv4Addr::new(192, 0, 2, 7);
    control::set_neighbour(&control, "kos", address, "02:00:00:00:00:07").await.unwrap();
    let shown = control.call("tnl/neigh/show", &[]).await.unwrap();
    assert!(shown.contains("192.0.2.7") && shown.contains("02:00:00:00:00:07"), "{shown}");
    let refused = control::trace(&control, "missing", "in_port=1").await.unwrap_err();
    assert!(matches!(refused, control::ControlError::Refused { .. }), "{refused:?}");
}
