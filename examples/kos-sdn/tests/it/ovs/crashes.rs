//! Agents that crash at their effects on real switches.

use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use kos::drive::ovs::control::ControlSocket;
use kos::drive::ovs::fabric::SwitchConnections;
use kos::drive::ovs::links::{KernelLinks, KernelLinksSettings};
use kos::drive::ovs::openflow::{OpenFlowClient, OpenFlowSettings};
use kos::drive::ovs::ovsdb::{LockName, OvsdbClient, OvsdbConfig};
use kos::plan::default_drop_flows;
use machinery::testing::CrashPoints;
use tokio_util::sync::CancellationToken;
use tokio_util::task::TaskTracker;

use super::equality::BRIDGE;
use super::hosts::Hosts;
use super::namespace::names;
use super::requirements::can_run;
use crate::crash_nodes::{ConnectSwitch, CrashNode, OvsNode};
use crate::crashes::{Component, CrashNodes, scenario_in};

/// The daemons of a host.
struct CrashedSwitch {
    hosts: Arc<Hosts>,
    number: usize,
}

impl CrashedSwitch {
    fn folder(&self) -> PathBuf {
        self.hosts.hosts[self.number].daemons.folder().into()
    }
}

impl ConnectSwitch for CrashedSwitch {
    fn connect(&self, lock: &str, ended: CancellationToken) -> SwitchConnections {
        let (folder, tasks) = (self.folder(), TaskTracker::new());
        let name = LockName::new(lock).unwrap();
        let (database, runner) = OvsdbClient::new(OvsdbConfig::new(folder.join("db.sock"), name));
        tasks.spawn(runner.run(ended.clone()));
        let socket = folder.join(format!("{BRIDGE}.mgmt"));
        let flows = OpenFlowClient::start(socket, OpenFlowSettings::default(), &tasks, ended);
        let owner = format!("crashing agent of {}", folder.display());
        let pid_file = folder.join("ovs-vswitchd.pid");
        let links = KernelLinks::start(KernelLinksSettings { pid_file, owner }).unwrap();
        SwitchConnections {
            database: Arc::new(database),
            flows: Arc::new(flows),
            control: Arc::new(ControlSocket::new(folder, Duration::from_secs(10))),
            links: Arc::new(links),
            lock: lock.into(),
        }
    }

    fn leftovers(&self) -> Vec<String> {
        let daemons = &self.hosts.hosts[self.number].daemons;
        let ports = daemons.vsctl(&format!("list-ports {BRIDGE}"));
        let ports = ports.lines().filter(|name| *name != "kos-vtep").map(str::to_owned);
        let flows: String = default_drop_flows().iter().map(|flow| format!("{flow}\n")).collect();
        let left = daemons.flow_differences(BRIDGE, &flows);
        ports.chain(left).chain(names(&format!("{}.", self.hosts.tag))).collect()
    }
}

/// The share of the crash points, one in seven; the test on simulated switches crashes at each
/// effect.
const SHARE: u64 = 7;

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn agents_may_crash_on_a_real_switch() {
    let Some(_turn) = can_run("agents_may_crash_on_a_real_switch") else { return };
    let crashes = crash_at(CrashPoints::one_in(SHARE, 1)).await;
    assert!(crashes > 8, "{crashes}");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
#[ignore = "two minutes: cargo xtask kos-ovs"]
async fn agents_may_crash_at_every_effect_on_a_real_switch() {
    let Some(_turn) = can_run("agents_may_crash_at_every_effect_on_a_real_switch") else { return };
    let crashes = crash_at(CrashPoints::all()).await;
    assert!(crashes > 56, "{crashes}");
}

/// Runs the scenario with crashes. Returns their number.
async fn crash_at(points: CrashPoints) -> usize {
    let hosts = Arc::new(Hosts::start(2));
    let nodes = || -> CrashNodes {
        [0, 1].map(|number| -> Arc<dyn CrashNode> {
            let switch = CrashedSwitch { hosts: hosts.clone(), number };
            Arc::new(OvsNode::new(u8::try_from(number).unwrap() + 1, switch))
        })
    };
    let scenario = async |gate| scenario_in(&hosts.tag, nodes(), Component::Agent, gate).await;
    let report = points.run(scenario).await.unwrap();
    println!("{} crashes at {} effects", report.crashes, report.effects.len());
    report.crashes
}
