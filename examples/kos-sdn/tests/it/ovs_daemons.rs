//! Genuine daemons of Open vSwitch with a dummy datapath, which need no root.

use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::sync::Arc;

use kos::drive::ovs::ovsdb::{
    Condition, Database, DatabaseSnapshot, Datum, LockName, Mutation, OvsdbClient, OvsdbConfig, OvsdbTable,
    RowValues, TransactError, Transaction,
};
use machinery::tokio::time::timeout;
use machinery::tokio_util::sync::{CancellationToken, DropGuard};
use machinery::tokio_util::task::TaskTracker;
use tempfile::TempDir;

use crate::harness::DEADLINE;

const SCHEMA: &str = "/usr/share/openvswitch/vswitch.ovsschema";

/// The daemons in a run directory, killed on drop.
pub(crate) struct OvsDaemons {
    run_dir: TempDir,
    server: Option<OvsDaemon>,
    switch: Option<OvsDaemon>,
}

struct OvsDaemon(Child);

impl Drop for OvsDaemon {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

impl OvsDaemons {
    /// Starts ovsdb-server; `None` if it is not installed.
    pub(crate) fn start() -> Option<Self> {
        let run_dir = tempfile::tempdir().unwrap();
        let mut daemons = Self { run_dir, server: None, switch: None };
        if let Err(missing) = daemons.create_database() {
            println!("SKIPPED: {missing}: install openvswitch-switch");
            return None;
        }
        daemons.start_server();
        Some(daemons)
    }

    pub(crate) fn path(&self, name: &str) -> PathBuf {
        self.run_dir.path().join(name)
    }

    pub(crate) fn create_database(&self) -> Result<(), String> {
        if !Path::new(SCHEMA).exists() {
            return Err(format!("there is no {SCHEMA}"));
        }
        let created = Command::new("ovsdb-tool").arg("create").arg(self.path("conf.db")).arg(SCHEMA).status();
        let created = created.map_err(|error| format!("ovsdb-tool does not start: {error}"))?;
        assert!(created.success());
        Ok(())
    }

    pub(crate) fn run_dir(&self) -> &Path {
        self.run_dir.path()
    }

    /// Kills ovsdb-server with SIGKILL.
    pub(crate) fn kill_server(&mut self) {
        self.server = None;
    }

    fn daemon(&self, program: &str, name: &str, arguments: &[String]) -> OvsDaemon {
        let (directory, log) =
            (self.run_dir.path(), std::fs::File::create(self.path(&format!("{name}.log"))));
        let mut command = Command::new(program);
        for variable in ["OVS_RUNDIR", "OVS_LOGDIR", "OVS_DBDIR"] {
            command.env(variable, directory);
        }
        let pid = format!("--pidfile={}", self.path(&format!("{name}.pid")).display());
        let path = std::env::var("PATH").unwrap_or_default() + ":/usr/sbin:/sbin";
        command.args(arguments).arg(pid).env("PATH", path).stdout(Stdio::null()).stderr(log.unwrap());
        OvsDaemon(command.spawn().unwrap())
    }

    pub(crate) fn start_server(&mut self) {
        let arguments = [
            self.path("conf.db").display().to_string(),
            format!("--remote=punix:{}", self.path("db.sock").display()),
            format!("--unixctl={}", self.path("ovsdb.ctl").display()),
        ];
        self.server = Some(self.daemon("ovsdb-server", "ovsdb-server", &arguments));
    }

    pub(crate) fn start_switch(&mut self) {
        let arguments = [
            format!("unix:{}", self.path("db.sock").display()),
            format!("--unixctl={}", self.path("vswitchd.ctl").display()),
            "--enable-dummy=override".to_owned(),
            "--disable-system".to_owned(),
        ];
        self.switch = Some(self.daemon("ovs-vswitchd", "ovs-vswitchd", &arguments));
    }

    pub(crate) fn client(&self) -> ConnectedClient {
        let config = OvsdbConfig::new(self.path("db.sock"), LockName::new("kos_test").unwrap());
        let (database, runner) = OvsdbClient::new(config);
        let stopping = CancellationToken::new();
        TaskTracker::new().spawn(runner.run(stopping.clone()));
        ConnectedClient { database: Arc::new(database), _stop: stopping.drop_guard() }
    }
}

pub(crate) struct ConnectedClient {
    pub(crate) database: Arc<OvsdbClient>,
    _stop: DropGuard,
}

impl ConnectedClient {
    pub(crate) async fn until(&self, holds: impl Fn(&DatabaseSnapshot) -> bool) -> Arc<DatabaseSnapshot> {
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
    pub(crate) async fn initialise(&self) {
        self.until(DatabaseSnapshot::is_writable).await;
        let mut transaction = Transaction::new();
        transaction.insert(OvsdbTable::Root, "root", RowValues::new());
        self.database.transact(transaction).await.unwrap();
    }

    pub(crate) async fn add_bridge(&self, name: &str, ports: &[&str]) -> Result<Option<i64>, TransactError> {
        let root = self.database.snapshot().rows.root().unwrap().uuid;
        let mut transaction = Transaction::new().with_next_cfg();
        transaction.expect_none(OvsdbTable::Bridge, Condition::equal("name", name));
        let mut references = Vec::new();
        for (number, port) in ports.iter().enumerate() {
            let row = RowValues::new().with("name", *port).with("type", "internal");
            let interface = transaction.insert(OvsdbTable::Interface, format!("i{number}"), row);
            let marks = Datum::map([("kos-text", "\"quotes\\ and \u{1}\u{7f} é 😀\n")]);
            let row = RowValues::new().with("name", *port).with("interfaces", interface);
            let port =
                transaction.insert(OvsdbTable::Port, format!("p{number}"), row.with("external_ids", marks));
            references.extend(port.atoms().cloned());
        }
        let row = RowValues::new().with("name", name).with("ports", Datum::set(references));
        let row = row.with("datapath_type", "dummy").with("fail_mode", "secure");
        let bridge = transaction.insert(OvsdbTable::Bridge, "b", row.with("protocols", "OpenFlow15"));
        transaction.mutate(OvsdbTable::Root, root, vec![Mutation::insert("bridges", bridge)]);
        Ok(self.database.transact(transaction).await?.next_cfg)
    }
}
