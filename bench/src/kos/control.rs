//! The process of the server and the controllers: `machinery-bench kos-control`, for internal use.

use super::step::ControlRequest;
use crate::lines;
use crate::measure::Figures;
use anyhow::{Context, anyhow};
use kos::controllers::{self, ControllerSettings};
use kos::model;
use machinery::Plane;
use machinery::apiserver::Listen;
use std::net::SocketAddr;
use std::path::PathBuf;
use tokio::runtime::Builder;

/// Answers requests until the standard input closes.
pub(crate) fn serve() -> anyhow::Result<()> {
    let runtime = Builder::new_multi_thread().worker_threads(2).enable_all().build()?;
    let mut plane = None;
    lines::serve(|line| {
        let step: ControlRequest =
            serde_json::from_str(line).with_context(|| format!("this is no request: {line}"))?;
        let ControlRequest::Begin { directory, kubeconfig } = step;
        plane = Some(runtime.block_on(begin(directory, kubeconfig)).map_err(|error| anyhow!(error))?);
        Ok(Figures::default())
    })?;
    // The plane ends with the process.
    std::process::exit(0);
}

async fn begin(directory: PathBuf, kubeconfig: PathBuf) -> machinery::Result<Plane> {
    let begin = machinery::embedded().kind_of(model::subnets()).kind_of(model::network_attachments());
    let plane = begin.kind_of(model::ip_locks()).start().await?;
    controllers::run(&plane, ControllerSettings::default())?;
    let server = plane.server().ok_or("the server is elsewhere")?;
    let listen = Listen::at(SocketAddr::from(([127, 0, 0, 1], 0)), directory);
    server.listen(Listen { kubeconfig: Some(kubeconfig), ..listen }).await?;
    Ok(plane)
}
