//! TCP between two hosts: through our flows, and through two flows that match `dl_dst` alone.

use super::cluster::Cluster;
use super::first_ping::{Pair, pair};
use super::hosts::{BRIDGE, Hosts};
use super::network::{vni, workload};
use super::tools::{feed, inside, ip, ofctl, run as run_tool, vsctl};
use crate::measure::Figures;
use crate::scratch::Scratch;
use anyhow::Context;
use kos::plan::{LocalInterface, Mac};
use serde_json::Value;
use std::net::Ipv4Addr;
use std::process::{Child, Stdio};
use std::time::{Duration, Instant};

/// Time for a server to listen.
const TIME_LIMIT: Duration = Duration::from_secs(30);
const POLL: Duration = Duration::from_millis(20);
const PORT: u16 = 5201;

/// Figures of one run, on the same hosts.
pub(super) struct PipelineFigures {
    pub(super) ours: Figures,
    pub(super) dl_dst: Figures,
}

pub(super) fn run(scratch: &Scratch, seconds: usize, is_ours_first: bool) -> anyhow::Result<PipelineFigures> {
    let Pair { hosts, mut cluster } = pair(scratch)?;
    let addresses = [cluster.address(1, 0)?, cluster.address(2, 0)?];
    let mut ours = None;
    if is_ours_first {
        ours = Some(throughput(addresses[1], seconds)?);
    }
    let dl_dst = through_two_flows(&mut cluster, &hosts, addresses, seconds)?;
    let ours = match ours {
        Some(ours) => ours,
        None => {
            for number in [1, 2] {
                cluster.start_agent(number, hosts.host(number)?)?;
                cluster.until_adopted(number)?;
                cluster.reconcile(number)?;
            }
            throughput(addresses[1], seconds)?
        }
    };
    let figures = |mbit| Figures::default().with("mbit", mbit);
    Ok(PipelineFigures { ours: figures(ours), dl_dst: figures(dl_dst) })
}

/// Measures with two flows on each host, and without agents, which would repair them.
fn through_two_flows(
    cluster: &mut Cluster,
    hosts: &Hosts,
    addresses: [Ipv4Addr; 2],
    seconds: usize,
) -> anyhow::Result<f64> {
    let vni = vni()?;
    let locals = addresses.map(|address| LocalInterface::new(vni, address));
    for (number, other) in [(1, 2), (2, 1)] {
        cluster.stop_agent(number);
        let [here, there] = [number, other].map(|number| &locals[usize::from(number) - 1]);
        let (run, peer) = (&hosts.host(number)?.run_directory, hosts.host(other)?.address);
        let port = |name: &str| {
            let port = run_tool(vsctl(run).args(["get", "interface", name, "ofport"]))?;
            anyhow::Ok(port.trim().to_owned())
        };
        let tunnel =
            run_tool(vsctl(run).args(["--bare", "--columns=ofport", "find", "interface", "type=vxlan"]))?;
        let flows = format!(
            "dl_dst={} actions=output:{}\n\
             dl_dst={} actions=set_field:{:#x}->tun_id,set_field:{peer}->tun_dst,output:{}\n",
            here.mac,
            port(&here.name)?,
            there.mac,
            vni.number(),
            tunnel.trim()
        );
        feed(ofctl(run, &["replace-flows"], BRIDGE).arg("-"), &flows)?;
        // ARP requests match neither flow.
        neighbor(&workload(number, 0), here, (there.address, there.mac))?;
    }
    let measured = throughput(addresses[1], seconds);
    for (number, local) in (1..).zip(&locals) {
        run_tool(&mut ip(&format!(
            "-n {} neigh flush dev {} nud permanent",
            workload(number, 0),
            local.name
        )))?;
    }
    measured
}

fn neighbor(namespace: &str, link: &LocalInterface, to: (Ipv4Addr, Mac)) -> anyhow::Result<()> {
    let (address, mac) = to;
    let replace =
        format!("-n {namespace} neigh replace {address} lladdr {mac} dev {} nud permanent", link.name);
    run_tool(&mut ip(&replace)).map(drop)
}

/// Returns the received megabits per second from the first host to the second.
fn throughput(to: Ipv4Addr, seconds: usize) -> anyhow::Result<f64> {
    let server = Server::start(&workload(2, 0))?;
    let (seconds, to) = (seconds.to_string(), to.to_string());
    let report = run_tool(inside(&workload(1, 0), "iperf3").args(["-J", "-c", &to, "-t", &seconds]))?;
    drop(server);
    let report: Value = serde_json::from_str(&report).context("iperf3 prints JSON")?;
    let bits = report["end"]["sum_received"]["bits_per_second"].as_f64();
    Ok(bits.context("iperf3 reports received bits")? / 1e6)
}

struct Server(Child);

impl Server {
    fn start(namespace: &str) -> anyhow::Result<Self> {
        let child = inside(namespace, "iperf3")
            .args(["-s", "-1"])
            .stdin(Stdio::null())
            .stdout(Stdio::null())
            .spawn()
            .context("cannot start iperf3")?;
        let (server, end) = (Self(child), Instant::now() + TIME_LIMIT);
        let listening = format!(":{PORT}");
        while !run_tool(inside(namespace, "ss").args(["-Htln"]))?.contains(&listening) {
            anyhow::ensure!(Instant::now() < end, "iperf3 does not listen in {namespace}");
            std::thread::sleep(POLL);
        }
        Ok(server)
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        // It ends by itself after one client.
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}
