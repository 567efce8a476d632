//! The fabric of a host.

use super::host::Host;
use anyhow::bail;
use kos::drive::Fabric;
use std::sync::Arc;
use tokio_util::sync::CancellationToken;

/// Starts the fabric of a node with the switch of a host.
pub(super) async fn start(
    host: &Host,
    node: &str,
    into_namespaces: bool,
    stopping: &CancellationToken,
) -> anyhow::Result<Arc<dyn Fabric>> {
    let _ = (host, node, into_namespaces, stopping);
    bail!("the fabric of Open vSwitch is not there yet")
}
