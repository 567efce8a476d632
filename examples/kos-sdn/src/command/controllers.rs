//! `kos controllers`: both controllers, alone.

use std::net::SocketAddr;
use std::process::ExitCode;

use machinery::controllers::ElectionConfig;
use machinery::objects::ObjectKey;

use super::cluster::ClusterArguments;
use crate::controllers::{self, ControllerSettings};
use crate::metrics::Metrics;

/// Run both controllers. Of several processes, one leads and the others stand by
#[derive(Debug, clap::Args)]
pub(super) struct ControllersArguments {
    #[command(flatten)]
    cluster: ClusterArguments,
    /// The Lease for leader election: NAMESPACE/NAME
    #[arg(long, value_name = "NS/NAME", default_value = "kube-system/kos-controllers")]
    lease: ObjectKey,
    /// Number of workers for attachments
    #[arg(long, value_name = "N", default_value_t = 8)]
    ipam_workers: usize,
    /// Number of workers for subnets
    #[arg(long, value_name = "N", default_value_t = 4)]
    subnet_validator_workers: usize,
    /// Serve metrics for Prometheus and the latest reconciliations on this address
    #[arg(long, value_name = "A")]
    diagnostics: Option<SocketAddr>,
}

pub(super) async fn run(arguments: ControllersArguments) -> machinery::Result<ExitCode> {
    let plane = arguments.cluster.plane().await?;
    let metrics = Metrics::default();
    plane.add_metrics(&metrics);
    let mut settings = ControllerSettings { metrics, ..ControllerSettings::default() };
    settings.ipam_workers = arguments.ipam_workers;
    settings.validator_workers = arguments.subnet_validator_workers;
    // Unique among processes, also over time.
    let since = jiff::Timestamp::now().as_nanosecond();
    let identity = format!("kos-{}-{since}", std::process::id());
    let seed = u64::try_from(since.unsigned_abs() % u128::from(u64::MAX)).unwrap_or_default();
    let elector = plane.elector(ElectionConfig::new(arguments.lease.clone(), &identity, seed))?;
    controllers::lead(&plane, settings, &elector)?;
    if let Some(address) = arguments.diagnostics {
        let address = plane.diagnostics(address).await?;
        eprintln!("metrics: http://{address}/metrics");
    }
    println!("{identity} leads when the Lease {} is free; Ctrl-C ends it", arguments.lease);
    plane.shutdown_on_signal().await?;
    Ok(ExitCode::SUCCESS)
}
