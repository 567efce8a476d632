//! `kos ping`: an ICMP exchange between two attachments.

use std::process::ExitCode;
use std::time::Duration;

use machinery::objects::ObjectKey;

use super::cluster::ClusterArguments;
use crate::probe::Prober;

/// Send ICMP echo requests from the node of the first attachment to the second. Exits with 0 only
/// if all are answered
#[derive(Debug, clap::Args)]
pub(super) struct PingArguments {
    #[command(flatten)]
    cluster: ClusterArguments,
    /// The number of requests
    #[arg(long, short = 'c', value_name = "N", default_value_t = 3, value_parser = clap::value_parser!(u16).range(1..=100))]
    count: u16,
    /// Seconds to wait for the agent
    #[arg(long, value_name = "S", default_value_t = 10)]
    wait: u64,
    /// From: NAMESPACE/NAME
    from: ObjectKey,
    /// To: NAMESPACE/NAME
    to: ObjectKey,
}

pub(super) async fn run(arguments: PingArguments) -> machinery::Result<ExitCode> {
    let plane = arguments.cluster.plane().await?;
    let pinged = ping(&arguments, &plane).await;
    plane.stop().await;
    pinged
}

async fn ping(arguments: &PingArguments, plane: &machinery::Plane) -> machinery::Result<ExitCode> {
    let prober = Prober::new(plane, Duration::from_secs(arguments.wait))?;
    prober.synced().await?;
    let (from, to) = (prober.ready(&arguments.from)?, prober.ready(&arguments.to)?);
    println!(
        "{} ({}) to {} ({}), by {}",
        arguments.from, from.status.ipv4, arguments.to, to.status.ipv4, from.spec.node
    );
    let status = prober.ping(&from, &to, arguments.count).await?;
    for micros in &status.round_trips {
        println!("  answer from {}: {:.3} ms", to.status.ipv4, *micros as f64 / 1000.0);
    }
    println!("{} sent, {} answered", status.sent, status.round_trips.len());
    if !status.error.is_empty() {
        println!("{}", status.error);
    }
    let is_well = status.sent > 0 && status.round_trips.len() == usize::from(status.sent);
    Ok(if is_well { ExitCode::SUCCESS } else { ExitCode::FAILURE })
}
