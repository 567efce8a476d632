//! `kos agent`: the agent of one node, alone.

use std::fs::{self, File, TryLockError};
use std::net::{Ipv4Addr, SocketAddr};
use std::process::ExitCode;
use std::sync::Arc;
use std::time::Duration;

use super::cluster::{Cluster, home};
use crate::agent::{Agent, AgentSettings, answer_probes};
use crate::drive::sim::Wire;
use crate::drive::{Fabric, LogFabric};
use crate::metrics::Metrics;

/// The agent of one node, in a process of its own
#[derive(Debug, clap::Args)]
pub(super) struct Arguments {
    #[command(flatten)]
    cluster: Cluster,
    /// The name of the node, as attachments say it
    #[arg(long, value_name = "NAME")]
    node: String,
    /// The address of the node in the network below: others send frames there
    #[arg(long, value_name = "IP")]
    host_ip: Ipv4Addr,
    /// What moves frames: a switch in this process, with UDP between nodes (sim), Open vSwitch (ovs), or nothing, and it is logged (log)
    #[arg(long, value_enum, default_value_t = Moves::Sim)]
    fabric: Moves,
    /// The port of UDP for frames between nodes, the same for all of them
    #[arg(long, value_name = "PORT", default_value_t = 4789)]
    underlay_port: u16,
    /// The programs that it may run for attachments, by their full paths, with commas between them
    #[arg(long, value_name = "PATHS", value_delimiter = ',')]
    allowed_programs: Vec<String>,
    /// So often, in seconds, flows are held against those that should be there
    #[arg(long, value_name = "S", default_value_t = 10)]
    audit: u64,
    /// Listen by a stream for each network, instead of by one in all, if the server has that
    #[arg(long)]
    per_key: bool,
    /// Show numbers for Prometheus, and what it did last, on this address
    #[arg(long, value_name = "A")]
    diagnostics: Option<SocketAddr>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, clap::ValueEnum)]
enum Moves {
    Sim,
    Ovs,
    Log,
}

pub(super) async fn run(arguments: Arguments) -> machinery::Result<ExitCode> {
    let Arguments { node, host_ip, underlay_port: port, .. } = &arguments;
    let _alone = alone(node)?;
    let wire = match arguments.fabric {
        Moves::Ovs => return Err("the fabric ovs is not there yet: sim and log are".into()),
        Moves::Log => None,
        Moves::Sim => Some(Wire::bind(*host_ip, *port).await.map_err(|error| {
            format!("no frames can come to {host_ip}:{port}: {error}; --host-ip is an address of this machine, and --underlay-port is free")
        })?),
    };
    let plane = arguments.cluster.plane().await?;
    let metrics = Metrics::default();
    metrics.show(&plane);
    let fabric: Arc<dyn Fabric> = match wire {
        None => Arc::new(LogFabric::new()),
        Some(wire) => {
            let fabric = wire.fabric()?;
            plane.run(|stopping| wire.run(stopping));
            Arc::new(fabric)
        }
    };
    let mut settings = AgentSettings::new(node, *host_ip);
    settings.audit = Duration::from_secs(arguments.audit.max(1));
    settings.per_key = arguments.per_key;
    settings.programs.allowed.extend(arguments.allowed_programs.iter().cloned());
    settings.metrics = metrics.agent.clone();
    answer_probes(&plane, &settings, fabric.clone())?;
    Agent::run(&plane, settings, fabric, &plane.recorder("kos-agent"))?;
    if let Some(address) = arguments.diagnostics {
        let address = plane.diagnostics(address).await?;
        eprintln!("what it does is shown at http://{address}/metrics");
    }
    println!("the agent of {node} runs, at {host_ip}; Ctrl-C ends it");
    plane.until_signal().await?;
    Ok(ExitCode::SUCCESS)
}

/// Two agents of a node would take away each other's interfaces: the second does not begin.
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
