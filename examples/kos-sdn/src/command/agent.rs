//! `kos agent`: the agent of one node, alone.

use std::fs::{self, File, TryLockError};
use std::net::{Ipv4Addr, SocketAddr};
use std::process::ExitCode;
use std::sync::Arc;
use std::time::Duration;

use super::cluster::{ClusterArguments, home};
use super::switch::SwitchArguments;
use crate::agent::{Agent, AgentSettings, SWITCH_WORKERS};
use crate::drive::ovs::fabric::OvsFabric;
use crate::drive::sim::Wire;
use crate::drive::{Fabric, LogFabric};
use crate::metrics::Metrics;

/// Run the agent of one node
#[derive(Debug, clap::Args)]
pub(super) struct AgentArguments {
    #[command(flatten)]
    cluster: ClusterArguments,
    /// The name of the node, as in attachments
    #[arg(long, value_name = "NAME")]
    node: String,
    /// The underlay address of the node: the destination of frames from other nodes
    #[arg(long, value_name = "IP")]
    host_ip: Ipv4Addr,
    /// The data path: a switch in this process with UDP between nodes (sim), calls that are only
    /// logged (log), or a bridge of Open vSwitch (ovs)
    #[arg(long, value_enum, default_value_t = AgentFabric::Sim)]
    fabric: AgentFabric,
    /// The UDP port for frames between nodes, the same on all nodes
    #[arg(long, value_name = "PORT", default_value_t = 4789)]
    underlay_port: u16,
    #[command(flatten)]
    switch: SwitchArguments,
    /// Comma-separated paths of the programs that attachments may run
    #[arg(long, value_name = "PATHS", value_delimiter = ',')]
    allowed_programs: Vec<String>,
    /// Interval of consistency checks of the switch, in seconds
    #[arg(long, value_name = "S", default_value_t = 10)]
    audit: u64,
    /// Use one watch per network, even if the server supports one watch for all
    #[arg(long)]
    per_key: bool,
    /// Serve metrics for Prometheus and the latest reconciliations on this address
    #[arg(long, value_name = "A")]
    diagnostics: Option<SocketAddr>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, clap::ValueEnum)]
enum AgentFabric {
    Sim,
    Ovs,
    Log,
}

pub(super) async fn run(arguments: AgentArguments) -> machinery::Result<ExitCode> {
    let AgentArguments { node, host_ip, underlay_port: port, .. } = &arguments;
    let _alone = alone(node)?;
    let wire = match arguments.fabric {
        AgentFabric::Ovs | AgentFabric::Log => None,
        AgentFabric::Sim => Some(Wire::bind(*host_ip, *port).await.map_err(|error| {
            format!("no frames can come to {host_ip}:{port}: {error}; --host-ip is an address of this machine, and --underlay-port is free")
        })?),
    };
    let plane = arguments.cluster.plane().await?;
    let metrics = Metrics::default();
    plane.add_metrics(&metrics);
    let mut settings = AgentSettings::new(node, *host_ip);
    let fabric: Arc<dyn Fabric> = match wire {
        Some(wire) => {
            let fabric = wire.fabric()?;
            plane.run(|stopping| wire.run(stopping));
            Arc::new(fabric)
        }
        None if arguments.fabric == AgentFabric::Log => Arc::new(LogFabric::new()),
        None => {
            settings.workers = SWITCH_WORKERS;
            let switch = arguments.switch.settings(node, *host_ip);
            let (fabric, running) = OvsFabric::start(switch, plane.stopping().clone())?;
            plane.run(|_| running);
            Arc::new(fabric)
        }
    };
    settings.reconcile_interval = Duration::from_secs(arguments.audit.max(1));
    settings.per_key = arguments.per_key;
    settings.programs.allowed.extend(arguments.allowed_programs.iter().cloned());
    settings.metrics = metrics.agent.clone();
    let agent = Agent::run(&plane, settings, fabric, &plane.recorder("kos-agent"))?;
    agent.answer_probes(&plane)?;
    plane.run(|stopping| async move {
        stopping.run_until_cancelled(report_trouble(&agent)).await;
    });
    if let Some(address) = arguments.diagnostics {
        let address = plane.diagnostics(address).await?;
        eprintln!("metrics: http://{address}/metrics");
    }
    println!("the agent of {node} runs, at {host_ip}; Ctrl-C ends it");
    plane.shutdown_on_signal().await?;
    Ok(ExitCode::SUCCESS)
}

/// Prints errors of the switch as a whole; those of interfaces are in their attachments.
async fn report_trouble(agent: &Agent) {
    let (mut trouble, mut shown) = (agent.trouble(), None);
    loop {
        let now = trouble.borrow_and_update().clone();
        match &now {
            Some(error) if shown != now => eprintln!("kos: {error}; it is retried"),
            None if shown.is_some() => eprintln!("kos: the switch works again"),
            _ => {}
        }
        shown = now;
        if trouble.changed().await.is_err() {
            return;
        }
    }
}

/// Two agents would delete each other's interfaces, hence the file lock.
fn alone(node: &str) -> machinery::Result<File> {
    let directory = home().join("agents");
    let path = directory.join(format!("{node}.lock"));
    let opened = fs::create_dir_all(&directory).and_then(|()| File::create(&path));
    let file = opened.map_err(|error| format!("{} cannot be opened: {error}", path.display()))?;
    match file.try_lock() {
        Ok(()) => Ok(file),
        Err(TryLockError::WouldBlock) => {
            Err(format!("another agent of {node} runs on this machine: it holds {}", path.display()).into())
        }
        Err(TryLockError::Error(error)) => {
            Err(format!("{} cannot be locked: {error}", path.display()).into())
        }
    }
}
