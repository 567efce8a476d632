//! `sdewan runner`: Deployment controller and kubelet for CNFs, alone.

use std::net::{Ipv4Addr, SocketAddr};
use std::process::ExitCode;

use super::cluster::ClusterArguments;
use crate::runner::{PodAddresses, Runner, RunnerSettings};

/// Run the CNFs of Deployments with the label sdewanPurpose in this process, each pod with an
/// address of its own. For API servers without kubelets
#[derive(Debug, clap::Args)]
pub(super) struct RunnerArguments {
    #[command(flatten)]
    cluster: ClusterArguments,
    /// The network of the pods' addresses: the first two numbers count. Another runner on the
    /// machine needs another one
    #[arg(long, value_name = "A", default_value = "127.30.0.0")]
    pod_network: Ipv4Addr,
    /// Offer the original's REST API alone, without v2
    #[arg(long)]
    v1_only: bool,
    /// Serve metrics for Prometheus and the latest reconciliations on this address
    #[arg(long, value_name = "A")]
    diagnostics: Option<SocketAddr>,
}

pub(super) async fn run(arguments: RunnerArguments) -> machinery::Result<ExitCode> {
    let [first, second, ..] = arguments.pod_network.octets();
    if first != 127 {
        return Err(
            format!("--pod-network {}: it has to be within 127.0.0.0/8", arguments.pod_network).into()
        );
    }
    let plane = arguments.cluster.plane().await?;
    let addresses = PodAddresses::new(Ipv4Addr::new(first, second, 0, 0));
    let settings = RunnerSettings { addresses, offers_v2: !arguments.v1_only };
    Runner::start(&plane, settings).await?;
    if let Some(address) = arguments.diagnostics {
        eprintln!("metrics: http://{}/metrics", plane.diagnostics(address).await?);
    }
    println!("the runner runs the pods of Deployments with the label sdewanPurpose; Ctrl-C ends it");
    plane.shutdown_on_signal().await?;
    Ok(ExitCode::SUCCESS)
}
