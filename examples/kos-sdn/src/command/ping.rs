//! `kos ping`: a real exchange of frames between two attachments.

use std::process::ExitCode;
use std::time::Duration;

use machinery::objects::ObjectKey;

use super::cluster::Cluster;
use crate::probe::Asks;

/// A real ICMP exchange between two attachments, sent by the node of the first. It ends well only when all was answered.
#[derive(Debug, clap::Args)]
pub(super) struct Arguments {
    #[command(flatten)]
    cluster: Cluster,
    /// How many are sent
    #[arg(long, short = 'c', value_name = "N", default_value_t = 3, value_parser = clap::value_parser!(u16).range(1..=100))]
    count: u16,
    /// So many seconds the agent has to answer
    #[arg(long, value_name = "S", default_value_t = 10)]
    wait: u64,
    /// From: NAMESPACE/NAME
    from: ObjectKey,
    /// To: NAMESPACE/NAME
    to: ObjectKey,
}

pub(super) async fn run(arguments: Arguments) -> machinery::Result<ExitCode> {
    let plane = arguments.cluster.plane().await?;
    let pinged = ping(&arguments, &plane).await;
    plane.stop().await;
    pinged
}

async fn ping(arguments: &Arguments, plane: &machinery::Plane) -> machinery::Result<ExitCode> {
    let asks = Asks::new(plane, Duration::from_secs(arguments.wait))?;
    asks.synced().await?;
    let (from, to) = (asks.ready(&arguments.from)?, asks.ready(&arguments.to)?);
    println!(
        "{} ({}) to {} ({}), by {}",
        arguments.from, from.status.ipv4, arguments.to, to.status.ipv4, from.spec.node
    );
    let status = asks.ping(&from, &to, arguments.count).await?;
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
