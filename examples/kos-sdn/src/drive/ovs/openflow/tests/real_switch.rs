//! Open vSwitch for tests: its daemons with the dummy datapath, which needs no root.
//!
//! The dummy datapath is the userspace datapath with ports in memory: the same classifier, flow
//! translation and tunnels decide over frames.

use std::fs;
use std::io::{Read, Write};
use std::os::unix::net::UnixStream;
use std::path::PathBuf;
use std::process::{Command, Stdio};

use machinery::serde_json::{self, Value, json};
use tempfile::TempDir;

/// Underlay address of the bridge, and the network of its peers.
pub(crate) const HOST: [u8; 4] = [198, 51, 100, 1];

/// A running pair of daemons with the bridges `kos` and `underlay`. Dropping it ends them.
pub(crate) struct RealSwitch {
    dir: TempDir,
}

impl RealSwitch {
    /// Starts the daemons; `None`, with the reason printed, if Open vSwitch is not installed.
    pub(crate) fn start(test: &str) -> Option<Self> {
        let schema = "/usr/share/openvswitch/vswitch.ovsschema";
        if !PathBuf::from(schema).exists() {
            eprintln!("SKIPPED {test}: Open vSwitch is missing: apt install openvswitch-switch");
            return None;
        }
        let switch = Self { dir: tempfile::tempdir().unwrap() };
        let path = |name: &str| switch.path(name).display().to_string();
        let (database, socket) = (path("conf.db"), path("db.sock"));
        switch.run("ovsdb-tool", &["create", &database, schema]);
        let pid = format!("--pidfile={}", path("ovsdb-server.pid"));
        let (remote, control) =
            (format!("--remote=punix:{socket}"), format!("--unixctl={}", path("ovsdb.ctl")));
        switch.run("ovsdb-server", &[&database, &remote, &pid, &control, "--detach", "--no-chdir"]);
        switch.vsctl(&["--no-wait", "init"]);
        switch.start_vswitchd();
        let pcap = |port: &str| format!("options:tx_pcap={}", path(&format!("{port}.pcap")));
        let [u0, p2, p3] = ["u0", "p2", "p3"].map(pcap);
        // Without `local_ip`: the routes of dummy ports are not local ones, which it needs.
        let commands = format!(
            "-- add-br underlay -- set bridge underlay datapath_type=dummy -- add-port underlay u0 \
             -- set interface u0 type=dummy options:ifindex=1001 {u0} \
             -- add-br kos -- set bridge kos datapath_type=dummy fail_mode=secure protocols=OpenFlow15 \
             -- add-port kos vtep -- set interface vtep type=vxlan options:key=flow options:remote_ip=flow \
             ofport_request=1 \
             -- add-port kos p2 -- set interface p2 type=dummy ofport_request=2 {p2} \
             -- add-port kos p3 -- set interface p3 type=dummy ofport_request=3 {p3}"
        );
        switch.vsctl(&commands.split_whitespace().collect::<Vec<_>>());
        switch.appctl("netdev-dummy/ip4addr", &["underlay", "198.51.100.1/24"]);
        switch.appctl("ovs/route/add", &["198.51.100.0/24", "underlay"]);
        Some(switch)
    }

    /// Starts vswitchd, after [`kill_vswitchd`](Self::kill_vswitchd) too.
    pub(crate) fn start_vswitchd(&self) {
        let path = |name: &str| self.path(name).display().to_string();
        let (socket, pid) =
            (format!("unix:{}", path("db.sock")), format!("--pidfile={}", path("vswitchd.pid")));
        let control = format!("--unixctl={}", path("vswitchd.ctl"));
        let dummy = ["--enable-dummy", "--disable-system", "--disable-system-route"];
        self.run(
            "ovs-vswitchd",
            &[&[&*socket, &pid, &control, "--detach", "--no-chdir"][..], &dummy].concat(),
        );
    }

    /// Kills vswitchd: all flows are lost.
    pub(crate) fn kill_vswitchd(&self) {
        self.kill("vswitchd.pid");
    }

    pub(crate) fn path(&self, name: &str) -> PathBuf {
        self.dir.path().join(name)
    }

    /// Runs `ovs-vsctl` and returns its output.
    pub(crate) fn vsctl(&self, arguments: &[&str]) -> String {
        let database = format!("--db=unix:{}", self.path("db.sock").display());
        self.run("ovs-vsctl", &[&[&*database, "--timeout=20"][..], arguments].concat())
    }

    /// Runs `ovs-ofctl COMMAND` on the bridge `kos` and returns its output.
    pub(crate) fn ofctl(&self, command: &str, arguments: &[&str]) -> String {
        let bridge = format!("unix:{}", self.path("kos.mgmt").display());
        self.run("ovs-ofctl", &[&["-O", "OpenFlow15", command, &bridge][..], arguments].concat())
    }

    /// Calls a method of vswitchd's control socket and returns its output.
    pub(crate) fn appctl(&self, method: &str, arguments: &[&str]) -> String {
        let mut socket = UnixStream::connect(self.path("vswitchd.ctl")).unwrap();
        let request = json!({ "id": 0, "method": method, "params": arguments });
        socket.write_all(request.to_string().as_bytes()).unwrap();
        let mut responses = serde_json::Deserializer::from_reader(&mut socket).into_iter::<Value>();
        let response = responses.next().unwrap().unwrap();
        assert_eq!(response["error"], Value::Null, "{method} {arguments:?}");
        response["result"].as_str().unwrap().into()
    }

    /// Returns the frames that a port has sent, from its capture file.
    pub(crate) fn sent_frames(&self, port: &str) -> Vec<Vec<u8>> {
        let mut bytes = Vec::new();
        fs::File::open(self.path(&format!("{port}.pcap"))).unwrap().read_to_end(&mut bytes).unwrap();
        let (mut rest, mut frames) = (bytes.get(24..).unwrap_or_default(), Vec::new());
        while let Some((head, behind)) = rest.split_first_chunk::<16>() {
            let length = u32::from_ne_bytes([head[8], head[9], head[10], head[11]]) as usize;
            let Some((frame, behind)) = behind.split_at_checked(length) else { break };
            frames.push(frame.to_vec());
            rest = behind;
        }
        frames
    }

    fn run(&self, program: &str, arguments: &[&str]) -> String {
        let mut command = Command::new(program);
        for variable in ["OVS_RUNDIR", "OVS_LOGDIR", "OVS_DBDIR"] {
            command.env(variable, self.dir.path());
        }
        // A daemon would keep a pipe open: its output goes to a file.
        let (out, errors) = (self.path("stdout"), self.path("stderr"));
        let file = |path: &PathBuf| Stdio::from(fs::File::create(path).unwrap());
        let status =
            command.args(arguments).stdin(Stdio::null()).stdout(file(&out)).stderr(file(&errors)).status();
        let errors = fs::read_to_string(errors).unwrap();
        assert!(status.unwrap().success(), "{program} {arguments:?}: {errors}");
        fs::read_to_string(out).unwrap()
    }

    fn kill(&self, pidfile: &str) {
        let Ok(pid) = fs::read_to_string(self.path(pidfile)) else { return };
        let Some(pid) = pid.trim().parse().ok().and_then(rustix::process::Pid::from_raw) else { return };
        let _ = rustix::process::kill_process(pid, rustix::process::Signal::KILL);
        // The daemon is not our child: it is gone when its number is.
        while rustix::process::test_kill_process(pid).is_ok() {
            std::thread::yield_now();
        }
    }
}

impl Drop for RealSwitch {
    fn drop(&mut self) {
        self.kill("vswitchd.pid");
        self.kill("ovsdb-server.pid");
    }
}
