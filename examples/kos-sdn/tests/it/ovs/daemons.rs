//! The two daemons of Open vSwitch on one host.

use std::fs;
use std::os::unix::net::UnixStream;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use super::command::{run, run_with, try_run};

/// The daemons in the network namespace of a host, killed on drop.
pub(crate) struct Daemons {
    namespace: String,
    folder: PathBuf,
    database: Option<Child>,
    switch: Option<Child>,
}

const SCHEMA: &str = "/usr/share/openvswitch/vswitch.ovsschema";

impl Daemons {
    /// Starts both daemons with an empty database in a folder.
    pub(crate) fn start(namespace: &str, folder: &Path) -> Self {
        fs::create_dir_all(folder).unwrap();
        let mut daemons =
            Self { namespace: namespace.into(), folder: folder.into(), database: None, switch: None };
        daemons.create_database();
        daemons.start_database();
        daemons.vsctl("--no-wait init");
        daemons.start_switch();
        daemons
    }

    pub(crate) fn folder(&self) -> &Path {
        &self.folder
    }

    fn file(&self, name: &str) -> String {
        self.folder.join(name).to_str().unwrap().to_owned()
    }

    fn create_database(&self) {
        run(&["ovsdb-tool", "create", &self.file("conf.db"), SCHEMA]);
    }

    /// Replaces the database by an empty one. Only while its server is killed.
    pub(crate) fn lose_database(&self) {
        fs::remove_file(self.file("conf.db")).unwrap();
        let _ = fs::remove_file(self.file(".conf.db.~lock~"));
        self.create_database();
    }

    pub(crate) fn start_database(&mut self) {
        let (file, remote) = (self.file("conf.db"), format!("--remote=punix:{}", self.file("db.sock")));
        let socket = self.folder.join("db.sock");
        let _ = fs::remove_file(&socket);
        self.database = Some(self.spawn(&["ovsdb-server", &file, &remote], "ovsdb-server", "ovsdb.ctl"));
        wait_for(&socket);
    }

    pub(crate) fn start_switch(&mut self) {
        let remote = format!("unix:{}", self.file("db.sock"));
        let control = self.folder.join("vswitchd.ctl");
        let _ = fs::remove_file(&control);
        self.switch = Some(self.spawn(&["ovs-vswitchd", &remote], "ovs-vswitchd", "vswitchd.ctl"));
        wait_for(&control);
    }

    fn spawn(&self, arguments: &[&str], pid: &str, control: &str) -> Child {
        // The daemons end with the test, also when it is killed.
        let mut all = vec!["--pdeathsig", "KILL", "ip", "netns", "exec", &self.namespace];
        all.extend(arguments);
        let own = [
            format!("--pidfile={}", self.file(&format!("{pid}.pid"))),
            format!("--unixctl={}", self.file(control)),
            format!("--log-file={}", self.file(&format!("{pid}.log"))),
        ];
        let mut command = Command::new("setpriv");
        command.args(all).args(["--no-chdir", "-vconsole:off"]).args(own).stdin(Stdio::null());
        for variable in ["OVS_RUNDIR", "OVS_LOGDIR", "OVS_DBDIR"] {
            command.env(variable, &self.folder);
        }
        command.stdout(Stdio::null()).stderr(Stdio::null()).spawn().unwrap()
    }

    pub(crate) fn kill_database(&mut self) {
        kill(self.database.take());
    }

    /// Waits until a bridge accepts connections.
    pub(crate) fn wait_for_bridge(&self, bridge: &str) {
        wait_for(&self.folder.join(format!("{bridge}.mgmt")));
    }

    /// Waits until the switch has applied a change of the database.
    pub(crate) fn wait_for_switch(&self) {
        let changed =
            "--timeout=60 set open_vswitch . external_ids:test=x -- remove open_vswitch . external_ids test";
        self.vsctl(changed);
    }

    pub(crate) fn kill_switch(&mut self) {
        kill(self.switch.take());
    }

    /// Runs `ovs-vsctl` with arguments separated by spaces.
    #[track_caller]
    pub(crate) fn vsctl(&self, arguments: &str) -> String {
        match self.try_vsctl(arguments) {
            Ok(text) => text,
            Err(text) => panic!("ovs-vsctl {arguments}: {text}"),
        }
    }

    pub(crate) fn try_vsctl(&self, arguments: &str) -> Result<String, String> {
        let database = format!("--db=unix:{}", self.file("db.sock"));
        let all = ["ovs-vsctl", "--timeout=20", &database].into_iter().chain(arguments.split_whitespace());
        try_run(&all.collect::<Vec<_>>())
    }

    /// Compares the flows of a bridge, cookies included, with flows as text.
    pub(crate) fn flow_differences(&self, bridge: &str, flows: &str) -> Vec<String> {
        let file = self.file("desired-flows");
        fs::write(&file, flows).unwrap();
        match self.ofctl("diff-flows", bridge, &[&file]) {
            Ok(_) => Vec::new(),
            Err(text) => text.lines().map(str::to_owned).collect(),
        }
    }

    fn bridge(&self, bridge: &str) -> String {
        format!("unix:{}", self.file(&format!("{bridge}.mgmt")))
    }

    /// Runs a command of `ovs-ofctl` on a bridge.
    pub(crate) fn ofctl(&self, command: &str, bridge: &str, others: &[&str]) -> Result<String, String> {
        let bridge = self.bridge(bridge);
        let (command, flags) = command.split_once(' ').unwrap_or((command, ""));
        let mut all = vec!["ovs-ofctl", "-OOpenFlow15", "--timeout=20"];
        all.extend(flags.split_whitespace().chain([command, &bridge]).chain(others.iter().copied()));
        try_run(&all)
    }

    /// Adds flows, one a line.
    #[track_caller]
    pub(crate) fn add_flows(&self, bridge: &str, flows: &str) {
        let bridge = self.bridge(bridge);
        run_with(
            &["ovs-ofctl", "-OOpenFlow15", "--timeout=20", "--bundle", "add-flows", &bridge, "-"],
            flows,
        );
    }
}

impl Drop for Daemons {
    fn drop(&mut self) {
        self.kill_switch();
        self.kill_database();
    }
}

fn kill(child: Option<Child>) {
    if let Some(mut child) = child {
        let _ = child.kill();
        let _ = child.wait();
    }
}

fn wait_for(socket: &Path) {
    let until = Instant::now() + Duration::from_secs(60);
    while UnixStream::connect(socket).is_err() {
        assert!(Instant::now() < until, "{} does not accept connections", socket.display());
        std::thread::sleep(Duration::from_millis(5));
    }
}
