//! `sdewan agent`: the agent, alone.

use std::net::SocketAddr;
use std::process::ExitCode;
use std::sync::Arc;
use std::time::Duration;

use machinery::controllers::ElectionConfig;
use machinery::k8s_openapi::api::core::v1::Namespace;

use super::cluster::ClusterArguments;
use crate::agent::{Agent, AgentSettings};
use crate::drive::rest::RestConnector;
use crate::roles::SYSTEM_NAMESPACE;

/// Run the agent: it keeps each CNF as its rules say, and the statuses of the rules
#[derive(Debug, clap::Args)]
pub(super) struct AgentArguments {
    #[command(flatten)]
    cluster: ClusterArguments,
    /// The interval at which each pod is compared, in seconds; shortened by a random share
    #[arg(long, value_name = "S", default_value_t = 60)]
    drift: u64,
    /// The port of all CNFs, instead of their container port named `rest`, or 443
    #[arg(long, value_name = "PORT")]
    cnf_port: Option<u16>,
    /// Write to the ready pods of a CNF that is not ready as a whole
    #[arg(long)]
    partial_apply: bool,
    /// Write only while this agent leads, by a Lease in the namespace sdewan-system
    #[arg(long)]
    leader_elect: bool,
    /// Serve metrics for Prometheus on this address
    #[arg(long, value_name = "A")]
    metrics_bind_address: Option<SocketAddr>,
}

/// The name of the Lease, which is the original's: of both, one leads.
const LEASE: &str = "controller-leader-election-helper";

pub(super) async fn run(arguments: AgentArguments) -> machinery::Result<ExitCode> {
    let plane = arguments.cluster.plane().await?;
    let mut settings = AgentSettings {
        cnf_port: arguments.cnf_port,
        partial_apply: arguments.partial_apply,
        drift: Duration::from_secs(arguments.drift.max(1)),
        seed: super::seed()?,
        ..AgentSettings::default()
    };
    if arguments.leader_elect {
        let namespace = SYSTEM_NAMESPACE.parse()?;
        if plane.read_object::<Namespace>(&namespace).await?.is_none() {
            return Err(format!(
                "the namespace {SYSTEM_NAMESPACE} of the Lease does not exist: apply the output of `sdewan roles`"
            )
            .into());
        }
        let identity = format!("{}-{}", hostname(), std::process::id());
        let lease = format!("{SYSTEM_NAMESPACE}/{LEASE}").parse()?;
        settings.election = Some(ElectionConfig::new(lease, &identity, u64::from(std::process::id())));
    }
    Agent::run(&plane, settings, Arc::new(RestConnector::default()))?;
    if let Some(address) = arguments.metrics_bind_address {
        eprintln!("metrics: http://{}/metrics", plane.diagnostics(address).await?);
    }
    println!("the agent runs; Ctrl-C ends it");
    plane.shutdown_on_signal().await?;
    Ok(ExitCode::SUCCESS)
}

fn hostname() -> String {
    let name = std::fs::read_to_string("/proc/sys/kernel/hostname").unwrap_or_default();
    if name.trim().is_empty() { "sdewan-agent".to_owned() } else { name.trim().to_owned() }
}
