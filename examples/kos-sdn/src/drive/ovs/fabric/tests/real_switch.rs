//! Real daemons of Open vSwitch in network namespaces, for tests as root.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::sync::atomic::{AtomicU32, Ordering};

/// Two hosts with a common underlay: a veth pair between their bridges.
pub(super) struct RealHosts {
    pub(super) hosts: [RealHost; 2],
}

/// One host: a namespace with ovsdb-server and ovs-vswitchd.
pub(super) struct RealHost {
    pub(super) namespace: String,
    pub(super) run: PathBuf,
    _directory: tempfile::TempDir,
}

const SCHEMA: &str = "/usr/share/openvswitch/vswitch.ovsschema";

static NEXT: AtomicU32 = AtomicU32::new(0);

/// Returns whether tests with real daemons can run; prints the reason otherwise.
pub(super) fn is_available(test: &str) -> bool {
    let has_program = |name: &str| Command::new(name).arg("--version").stdout(Stdio::null()).status().is_ok();
    let missing = if !rustix::process::geteuid().is_root() {
        "root"
    } else if !has_program("ovs-vswitchd") {
        "ovs-vswitchd: install openvswitch-switch"
    } else {
        return true;
    };
    eprintln!("SKIPPED {test}: it needs {missing}");
    false
}

impl RealHosts {
    pub(super) fn start() -> Self {
        let number = NEXT.fetch_add(1, Ordering::SeqCst);
        let names = [1, 2].map(|host| format!("fabric-{}-{number}-{host}", std::process::id()));
        let hosts = names.map(RealHost::create);
        run(
            "ip",
            &[
                "link",
                "add",
                "eth0",
                "netns",
                &hosts[0].namespace,
                "type",
                "veth",
                "peer",
                "name",
                "eth0",
                "netns",
                &hosts[1].namespace,
            ],
        );
        for (host, low) in hosts.iter().zip(1..) {
            host.start_daemons();
            host.underlay(low);
        }
        Self { hosts }
    }
}

impl RealHost {
    fn create(namespace: String) -> Self {
        run("ip", &["netns", "add", &namespace]);
        run("ip", &["-n", &namespace, "link", "set", "lo", "up"]);
        let directory = tempfile::tempdir().unwrap();
        let run_directory = directory.path().canonicalize().unwrap();
        run("ovsdb-tool", &["create", run_directory.join("conf.db").to_str().unwrap(), SCHEMA]);
        Self { namespace, run: run_directory, _directory: directory }
    }

    fn start_daemons(&self) {
        self.start_database();
        self.vsctl(&["--no-wait", "init"]);
        self.start_switch();
    }

    /// Starts ovsdb-server.
    pub(super) fn start_database(&self) {
        let path = |name: &str| self.run.join(name).to_str().unwrap().to_owned();
        let database = [
            "ovsdb-server".to_owned(),
            path("conf.db"),
            format!("--remote=punix:{}", path("db.sock")),
            format!("--pidfile={}", path("ovsdb-server.pid")),
            format!("--unixctl={}", path("ovsdb.ctl")),
            format!("--log-file={}", path("ovsdb.log")),
        ];
        self.daemon(&database);
    }

    /// Starts ovs-vswitchd of the first host again, whose underlay device is a new one.
    pub(super) fn restart_switch(&self) {
        self.start_switch();
        self.underlay_bridge(1);
    }

    fn start_switch(&self) {
        let path = |name: &str| self.run.join(name).to_str().unwrap().to_owned();
        let switch = [
            "ovs-vswitchd".to_owned(),
            format!("unix:{}", path("db.sock")),
            format!("--pidfile={}", path("ovs-vswitchd.pid")),
            format!("--unixctl={}", path("vswitchd.ctl")),
            format!("--log-file={}", path("vswitchd.log")),
        ];
        self.daemon(&switch);
    }

    /// Restarts ovsdb-server of the first host with an empty database. The underlay's bridge is
    /// created again, as by the owner of the host.
    pub(super) fn lose_database(&self) {
        self.kill("ovsdb-server");
        let database = self.run.join("conf.db");
        fs::remove_file(&database).unwrap();
        run("ovsdb-tool", &["create", database.to_str().unwrap(), SCHEMA]);
        self.start_database();
        self.vsctl(&["--no-wait", "init"]);
        self.underlay_bridge(1);
    }

    fn daemon(&self, arguments: &[String]) {
        let run_directory = self.run.to_str().unwrap();
        let status = Command::new("ip")
            .args(["netns", "exec", &self.namespace])
            .args(arguments)
            .args(["--detach", "--no-chdir"])
            .env("OVS_RUNDIR", run_directory)
            .env("OVS_LOGDIR", run_directory)
            .env("OVS_DBDIR", run_directory)
            .stderr(Stdio::null())
            .status();
        assert!(status.unwrap().success(), "{arguments:?}");
    }

    fn underlay(&self, low: u8) {
        let namespace = &*self.namespace;
        run("ip", &["-n", namespace, "link", "set", "eth0", "up"]);
        let rules = "add table netdev kos; add chain netdev kos in { type filter hook ingress device eth0 priority 0; policy drop; }";
        run("ip", &["netns", "exec", namespace, "nft", rules]);
        self.underlay_bridge(low);
    }

    fn underlay_bridge(&self, low: u8) {
        let namespace = &*self.namespace;
        let bridge = ["--", "set", "bridge", "underlay", "datapath_type=netdev"];
        let port = ["--", "--may-exist", "add-port", "underlay", "eth0"];
        self.vsctl(&[&["--may-exist", "add-br", "underlay"][..], &bridge, &port].concat());
        run("ip", &["-n", namespace, "address", "replace", &format!("192.0.2.{low}/24"), "dev", "underlay"]);
        run("ip", &["-n", namespace, "link", "set", "underlay", "up"]);
    }

    pub(super) fn vsctl(&self, arguments: &[&str]) -> String {
        self.try_vsctl(arguments).unwrap_or_else(|| panic!("ovs-vsctl {arguments:?} fails"))
    }

    pub(super) fn try_vsctl(&self, arguments: &[&str]) -> Option<String> {
        let database = format!("--db=unix:{}", self.run.join("db.sock").display());
        try_output("ovs-vsctl", &[&["--timeout=10", &database][..], arguments].concat()).ok()
    }

    pub(super) fn ofctl(&self, command: &str, arguments: &[&str]) -> String {
        self.try_ofctl(command, arguments).unwrap_or_else(|| panic!("ovs-ofctl {arguments:?} fails"))
    }

    pub(super) fn try_ofctl(&self, command: &str, arguments: &[&str]) -> Option<String> {
        let target = format!("unix:{}", self.run.join("kos.mgmt").display());
        let options = ["--timeout=10", "-O", "OpenFlow15", command, &target];
        try_output("ovs-ofctl", &[&options[..], arguments].concat()).ok()
    }

    /// Kills a daemon.
    pub(super) fn kill(&self, daemon: &str) {
        kill(&self.run, daemon);
    }
}

impl Drop for RealHost {
    fn drop(&mut self) {
        for daemon in ["ovs-vswitchd", "ovsdb-server"] {
            kill(&self.run, daemon);
        }
        // Workloads of a failed test.
        let workloads = fs::read_dir("/run/netns").into_iter().flatten().flatten();
        let names = workloads.filter_map(|entry| entry.file_name().into_string().ok());
        let own = format!("{}.", self.namespace);
        for name in names.filter(|name| name.starts_with(&own)).chain([self.namespace.clone()]) {
            let _ = Command::new("ip").args(["netns", "delete", &name]).status();
        }
    }
}

fn kill(run: &Path, daemon: &str) {
    let file = run.join(format!("{daemon}.pid"));
    let Ok(text) = fs::read_to_string(&file) else { return };
    let pid = text.trim().parse().ok().and_then(rustix::process::Pid::from_raw).unwrap();
    let _ = rustix::process::kill_process(pid, rustix::process::Signal::KILL);
    // A zombie has ended: its parent may be slow.
    let is_running = || {
        let stat = fs::read_to_string(Path::new("/proc").join(text.trim()).join("stat"));
        stat.is_ok_and(|stat| !stat.contains(") Z "))
    };
    while is_running() {
        std::thread::yield_now();
    }
    let _ = fs::remove_file(file);
}

fn run(program: &str, arguments: &[&str]) {
    output(program, arguments);
}

pub(super) fn output(program: &str, arguments: &[&str]) -> String {
    try_output(program, arguments).unwrap_or_else(|error| panic!("{program} {arguments:?}: {error}"))
}

fn try_output(program: &str, arguments: &[&str]) -> Result<String, String> {
    let output = Command::new(program).args(arguments).output().unwrap();
    match output.status.success() {
        true => Ok(String::from_utf8(output.stdout).unwrap()),
        false => Err(String::from_utf8_lossy(&output.stderr).into_owned()),
    }
}
