//! Debian's etcd on loopback, used through its Go client in the process of the Go peers.

use super::measured::{Start, StoreServer};
use super::shape::StoreStep;
use crate::lines::LineProcess;
use crate::measure::Figures;
use crate::scratch::Scratch;
use anyhow::{Context, bail, ensure};
use serde::Serialize;
use std::fs::{self, File};
use std::io::{Read, Write};
use std::net::{Ipv4Addr, SocketAddr, TcpListener, TcpStream};
use std::process::{Child, Command, Stdio};
use std::rc::Rc;
use std::time::Duration;

pub(super) const NAME: &str = "etcd";

/// Number of client connections. More were slower here: 64 clients had 7.5 k puts/s on one or two,
/// 6.6 k on four, 6.5 k on sixteen.
const CONNECTIONS: usize = 1;

/// File of etcd's standard error, quoted in the error of a failed start.
const LOG: &str = "etcd.log";

const QUOTA_BYTES: &str = "8589934592";

/// Returns the version line, as `etcd Version: 3.4.23`; `None` if not installed.
pub(super) fn version() -> Option<String> {
    let output = Command::new(NAME).arg("--version").output().ok()?;
    Some(String::from_utf8_lossy(&output.stdout).lines().next()?.to_owned())
}

pub(super) struct Etcd {
    peers: LineProcess,
    scratch: Rc<Scratch>,
    running: Option<RunningEtcd>,
}

struct RunningEtcd {
    server: Child,
    client: SocketAddr,
}

#[derive(Serialize)]
struct EtcdRequest<'a> {
    peer: &'static str,
    #[serde(flatten)]
    step: &'a StoreStep,
}

#[derive(Serialize)]
struct EtcdReady {
    peer: &'static str,
    shape: &'static str,
    endpoint: SocketAddr,
    connections: usize,
}

impl Etcd {
    pub(super) fn new(peers: LineProcess, scratch: Rc<Scratch>) -> Self {
        Self { peers, scratch, running: None }
    }

    fn launch(&mut self, start: &Start) -> anyhow::Result<SocketAddr> {
        let [client, peer] = free_addresses()?;
        let url = |address: SocketAddr| format!("http://{address}");
        let server = Command::new(NAME)
            .args(["--name", "bench", "--logger", "zap", "--log-level", "error"])
            .arg("--data-dir")
            .arg(&start.directory)
            .args(["--listen-client-urls", &url(client), "--advertise-client-urls", &url(client)])
            .args(["--listen-peer-urls", &url(peer), "--initial-advertise-peer-urls", &url(peer)])
            .args(["--initial-cluster", &format!("bench={}", url(peer))])
            .args(["--quota-backend-bytes", QUOTA_BYTES])
            .stdin(Stdio::null())
            .stdout(Stdio::null())
            .stderr(File::create(self.scratch.path(LOG))?)
            .spawn()
            .context("cannot start etcd")?;
        self.scratch.began(server.id());
        let running = self.running.insert(RunningEtcd { server, client });
        while TcpStream::connect(client).is_err() {
            if let Some(status) = running.server.try_wait()? {
                bail!("etcd ended at its start: {status}\n{}", fs::read_to_string(self.scratch.path(LOG))?);
            }
            std::thread::sleep(Duration::from_millis(1));
        }
        Ok(client)
    }

    /// Returns the syncs of the write-ahead log. The database is synced separately, ten times a
    /// second or after 10 000 puts.
    fn syncs(&self) -> anyhow::Result<f64> {
        let client = self.running.as_ref().context("etcd does not run")?.client;
        let text = page(client, "/metrics").context("cannot read etcd's metrics")?;
        let name = "etcd_disk_wal_fsync_duration_seconds_count ";
        let count = text.lines().find_map(|line| line.strip_prefix(name)?.trim().parse().ok());
        count.context("etcd's metrics have no count of syncs")
    }
}

impl StoreServer for Etcd {
    fn name(&self) -> &'static str {
        NAME
    }

    fn start(&mut self, start: &Start) -> anyhow::Result<()> {
        ensure!(start.sync_ms == 0, "etcd's disk cannot be made slow");
        let mut launched = self.launch(start);
        if launched.is_err() {
            self.kill()?;
            launched = self.launch(start); // another process may have taken a port
        }
        let ready = EtcdReady { peer: NAME, shape: "ready", endpoint: launched?, connections: CONNECTIONS };
        self.peers.ask(&ready).map(drop)
    }

    fn ask(&mut self, step: &StoreStep) -> anyhow::Result<Figures> {
        let before = self.syncs()?;
        let figures = self.peers.ask(&EtcdRequest { peer: NAME, step })?;
        Ok(figures.with("syncs", self.syncs()? - before))
    }

    fn pid(&self) -> anyhow::Result<u32> {
        Ok(self.running.as_ref().context("etcd does not run")?.server.id())
    }

    fn kill(&mut self) -> anyhow::Result<()> {
        if let Some(mut running) = self.running.take() {
            running.server.kill().context("cannot kill etcd")?;
            running.server.wait()?;
            self.scratch.ended(running.server.id());
        }
        Ok(())
    }
}

impl Drop for Etcd {
    fn drop(&mut self) {
        if let Err(error) = self.kill() {
            eprintln!("{error:#}");
        }
    }
}

/// Returns two addresses that were just free: etcd does not accept a bound socket.
fn free_addresses() -> anyhow::Result<[SocketAddr; 2]> {
    let bind = || TcpListener::bind((Ipv4Addr::LOCALHOST, 0));
    let (one, other) = (bind()?, bind()?);
    Ok([one.local_addr()?, other.local_addr()?])
}

/// Fetches a page over HTTP 1.0, which has no chunks.
fn page(server: SocketAddr, path: &str) -> anyhow::Result<String> {
    let mut stream = TcpStream::connect(server)?;
    write!(stream, "GET {path} HTTP/1.0\r\n\r\n")?;
    let mut text = String::new();
    stream.read_to_string(&mut text)?;
    Ok(text)
}
