//! `kos controllers`: both controllers, alone.

use std::net::SocketAddr;
use std::process::ExitCode;

use machinery::controllers::ElectionConfig;
use machinery::objects::ObjectKey;

use super::cluster::Cluster;
use crate::controllers::{self, ControllerSettings};
use crate::metrics::Metrics;

/// Both controllers, in a process of their own. Of several, one leads, and the others take over
#[derive(Debug, clap::Args)]
pub(super) struct Arguments {
    #[command(flatten)]
    cluster: Cluster,
    /// The Lease by which one of several leads: NAMESPACE/NAME
    #[arg(long, value_name = "NS/NAME", default_value = "kube-system/kos-controllers")]
    lease: ObjectKey,
    /// So many attachments are worked on at once
    #[arg(long, value_name = "N", default_value_t = 8)]
    ipam_workers: usize,
    /// So many subnets are
    #[arg(long, value_name = "N", default_value_t = 4)]
    subnet_validator_workers: usize,
    /// Show numbers for Prometheus, and what each controller did last, on this address
    #[arg(long, value_name = "A")]
    diagnostics: Option<SocketAddr>,
}

pub(super) async fn run(arguments: Arguments) -> machinery::Result<ExitCode> {
    let plane = arguments.cluster.plane().await?;
    let metrics = Metrics::default();
    metrics.show(&plane);
    let mut settings = ControllerSettings { metrics, ..ControllerSettings::default() };
    settings.ipam_workers = arguments.ipam_workers;
    settings.validator_workers = arguments.subnet_validator_workers;
    // A name that no other process has, now or later.
    let since = jiff::Timestamp::now().as_nanosecond();
    let identity = format!("kos-{}-{since}", std::process::id());
    let seed = u64::try_from(since.unsigned_abs() % u128::from(u64::MAX)).unwrap_or_default();
    let elector = plane.elector(ElectionConfig::new(arguments.lease.clone(), &identity, seed))?;
    controllers::lead(&plane, settings, &elector)?;
    if let Some(address) = arguments.diagnostics {
        let address = plane.diagnostics(address).await?;
        eprintln!("what they do is shown at http://{address}/metrics");
    }
    println!("{identity} leads when the Lease {} is free; Ctrl-C ends it", arguments.lease);
    plane.until_signal().await?;
    Ok(ExitCode::SUCCESS)
}
