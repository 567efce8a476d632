//! A host: a network namespace with Open vSwitch of its own.

use super::tools::{feed, inside, ip, run, vsctl};
use super::underlay::Underlay;
use crate::scratch::Scratch;
use anyhow::{Context, bail};
use std::fs::File;
use std::net::Ipv4Addr;
use std::os::unix::net::UnixStream;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::rc::Rc;
use std::time::{Duration, Instant};

/// Limit of the start of a daemon.
const TIME_LIMIT: Duration = Duration::from_secs(30);
const POLL: Duration = Duration::from_millis(1);
const SCHEMA: &str = "/usr/share/openvswitch/vswitch.ovsschema";

/// The name of the bridge for tenants.
pub(super) const BRIDGE: &str = "kos";

pub(super) struct Host {
    pub(super) namespace: String,
    pub(super) address: Ipv4Addr,
    run: PathBuf,
    database: Option<Child>,
    switch: Option<Child>,
    scratch: Rc<Scratch>,
}

impl Host {
    /// Makes host `number`, starts its daemons, and connects it to the underlay.
    pub(super) fn start(scratch: &Rc<Scratch>, underlay: &Underlay, number: u8) -> anyhow::Result<Self> {
        let namespace = format!("mb{}-host-{number}", std::process::id());
        scratch.namespace(&namespace);
        let directory = scratch.path(&format!("host-{number}"));
        // Files of an earlier host of this number.
        let _ = std::fs::remove_dir_all(&directory);
        std::fs::create_dir_all(&directory)?;
        let address = Ipv4Addr::new(192, 0, 2, number);
        let scratch = scratch.clone();
        let mut host = Self { namespace, address, run: directory, database: None, switch: None, scratch };
        host.connect(underlay, number)?;
        host.start_database()?;
        host.start_switch()?;
        run(vsctl(&host.run).args(["add-br", "underlay"]).args([
            "--",
            "set",
            "bridge",
            "underlay",
            "datapath_type=netdev",
            "--",
            "add-port",
            "underlay",
            "eth0",
        ]))?;
        // The address is the bridge's: OVS routes tunnels of its userspace datapath itself.
        let namespace = &host.namespace;
        run(&mut ip(&format!("-n {namespace} addr add {address}/24 dev underlay")))?;
        run(&mut ip(&format!("-n {namespace} link set underlay up")))?;
        Ok(host)
    }

    /// Returns the absolute run directory of the daemons.
    pub(super) fn run_directory(&self) -> &Path {
        &self.run
    }

    /// Returns the file with the log of ovs-vswitchd.
    pub(super) fn switch_log(&self) -> PathBuf {
        self.run.join("ovs-vswitchd.log")
    }

    /// Adds the bridge with its tunnel port by `ovs-vsctl`, as an administrator would.
    pub(super) fn add_bridge(&self) -> anyhow::Result<()> {
        let local = format!("options:local_ip={}", self.address);
        run(vsctl(&self.run)
            .args(["add-br", BRIDGE, "--", "set", "bridge", BRIDGE, "datapath_type=netdev"])
            .args(["fail_mode=secure", "protocols=OpenFlow15", "--", "add-port", BRIDGE, "vtep"])
            .args(["--", "set", "interface", "vtep", "type=vxlan", "options:key=flow"])
            .args(["options:remote_ip=flow", &local]))
        .map(drop)
    }

    /// Kills ovs-vswitchd, and starts another.
    pub(super) fn restart_switch(&mut self) -> anyhow::Result<()> {
        self.end(|host| &mut host.switch)?;
        self.start_switch()
    }

    /// Kills ovs-vswitchd.
    pub(super) fn kill_switch(&mut self) -> anyhow::Result<()> {
        self.end(|host| &mut host.switch)
    }

    /// Starts ovs-vswitchd, and waits until its control socket accepts connections.
    pub(super) fn start_switch(&mut self) -> anyhow::Result<()> {
        let mut command = self.daemon("ovs-vswitchd");
        command.arg(format!("unix:{}", self.run.join("db.sock").display()));
        self.switch = Some(self.spawn(command, "ovs-vswitchd", "vswitchd.ctl")?);
        self.accepts("vswitchd.ctl").map(drop)
    }

    /// Waits until a socket of the run directory accepts connections, and returns the connection.
    pub(super) fn accepts(&self, socket: &str) -> anyhow::Result<UnixStream> {
        let (path, end) = (self.run.join(socket), Instant::now() + TIME_LIMIT);
        loop {
            match UnixStream::connect(&path) {
                Ok(stream) => return Ok(stream),
                Err(error) if Instant::now() >= end => {
                    bail!("{} accepts no connection: {error}", path.display())
                }
                Err(_) => std::thread::sleep(POLL),
            }
        }
    }

    fn connect(&self, underlay: &Underlay, number: u8) -> anyhow::Result<()> {
        let (host, wire) = (&self.namespace, &underlay.namespace);
        run(&mut ip(&format!("netns add {host}")))?;
        run(&mut ip(&format!("-n {host} link add eth0 type veth peer name host{number} netns {wire}")))?;
        run(&mut ip(&format!("-n {wire} link set host{number} master br0 up")))?;
        run(&mut ip(&format!("-n {host} link set lo up")))?;
        run(&mut ip(&format!("-n {host} link set eth0 up")))?;
        // Else the kernel answers ARP with eth0's MAC address, which tunnels do not accept.
        let rules = "table netdev bench {\n chain in {\n  type filter hook ingress device \"eth0\" priority 0; policy drop;\n }\n}\n";
        feed(inside(host, "nft").args(["-f", "-"]), rules).map(drop)
    }

    fn start_database(&mut self) -> anyhow::Result<()> {
        let database = self.run.join("conf.db");
        run(Command::new("ovsdb-tool").arg("create").arg(&database).arg(SCHEMA))?;
        let mut command = self.daemon("ovsdb-server");
        let socket = self.run.join("db.sock");
        command.arg(&database).arg(format!("--remote=punix:{}", socket.display()));
        self.database = Some(self.spawn(command, "ovsdb-server", "ovsdb.ctl")?);
        self.accepts("db.sock")?;
        run(vsctl(&self.run).args(["--no-wait", "init"])).map(drop)
    }

    /// Returns a daemon of this host, in the foreground, so that it is a child of this process.
    fn daemon(&self, program: &str) -> Command {
        let mut command = inside(&self.namespace, "env");
        for name in ["OVS_RUNDIR", "OVS_LOGDIR", "OVS_DBDIR"] {
            command.arg(format!("{name}={}", self.run.display()));
        }
        command.arg(program);
        command
    }

    fn spawn(&self, mut command: Command, name: &str, control: &str) -> anyhow::Result<Child> {
        let file = |suffix: &str| self.run.join(format!("{name}.{suffix}"));
        let log = File::options().create(true).append(true).open(file("log"))?;
        let child = command
            .arg(format!("--pidfile={}", file("pid").display()))
            .arg(format!("--unixctl={}", self.run.join(control).display()))
            .arg("--no-chdir")
            .stdin(Stdio::null())
            .stdout(Stdio::null())
            .stderr(log)
            .spawn()
            .with_context(|| format!("cannot start {name}"))?;
        self.scratch.began(child.id());
        Ok(child)
    }

    fn end(&mut self, daemon: impl Fn(&mut Self) -> &mut Option<Child>) -> anyhow::Result<()> {
        if let Some(mut child) = daemon(self).take() {
            child.kill()?;
            child.wait()?;
            self.scratch.ended(child.id());
        }
        Ok(())
    }
}

impl Drop for Host {
    fn drop(&mut self) {
        let ended = self.end(|host| &mut host.switch).and(self.end(|host| &mut host.database));
        if let Err(error) = ended {
            eprintln!("a daemon of {} does not end: {error:#}", self.namespace);
        }
        self.scratch.delete_namespace(&self.namespace);
    }
}
