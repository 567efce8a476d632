//! `kos dashboard`: a Grafana dashboard of all metrics.

use std::process::ExitCode;
use std::time::Duration;

use crate::metrics::dashboard;
use crate::up::{LocalCluster, LocalClusterSettings};

/// Above the time that any machine needs for two interfaces.
const TIME_LIMIT: Duration = Duration::from_secs(60);

/// Machinery's metrics are known only from the page of a running plane.
pub(super) async fn run() -> machinery::Result<ExitCode> {
    let up = LocalCluster::start(LocalClusterSettings::default()).await?;
    let page = page(&up).await;
    up.plane().stop().await;
    println!("{:#}", dashboard(&page?));
    Ok(ExitCode::SUCCESS)
}

async fn page(up: &LocalCluster) -> machinery::Result<String> {
    up.make_samples().await?;
    up.all_ready(TIME_LIMIT, |_, _| {}).await?;
    Ok(up.plane().metrics())
}
