//! `kos dashboard`: a dashboard of what there is to count.

use std::process::ExitCode;
use std::time::Duration;

use crate::metrics::dashboard;
use crate::up::{Up, UpSettings};

/// The longest that any machine needs for two interfaces.
const PATIENCE: Duration = Duration::from_secs(60);

/// What machinery counts is on the page of one that runs, and nowhere else.
pub(super) async fn run() -> machinery::Result<ExitCode> {
    let up = Up::start(UpSettings::default()).await?;
    let page = page(&up).await;
    up.plane().stop().await;
    println!("{:#}", dashboard(&page?));
    Ok(ExitCode::SUCCESS)
}

async fn page(up: &Up) -> machinery::Result<String> {
    up.make_samples().await?;
    up.all_ready(PATIENCE, |_, _| {}).await?;
    Ok(up.plane().metrics())
}
