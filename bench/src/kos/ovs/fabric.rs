//! The fabric of a host.

use kos::drive::Fabric;
use kos::drive::ovs::fabric::{OvsFabric, OvsSettings};
use kos::lab::LabHost;
use kos::plan::ovs::SwitchSettings;
use std::sync::Arc;
use tokio::runtime::Runtime;
use tokio::task::JoinHandle;
use tokio_util::sync::CancellationToken;

/// Starts the fabric of a node with the switch of a host. The task ends when `stopping` is
/// cancelled.
pub(super) fn start(
    runtime: &Runtime,
    host: &LabHost,
    into_namespaces: bool,
    stopping: &CancellationToken,
) -> anyhow::Result<(Arc<dyn Fabric>, JoinHandle<()>)> {
    let mut switch = SwitchSettings::new(&host.node, host.address);
    switch.into_namespaces = into_namespaces;
    let settings = OvsSettings::new(switch, &host.run_directory);
    let _entered = runtime.enter();
    let (fabric, running) = OvsFabric::start(settings, stopping.clone())?;
    Ok((Arc::new(fabric), runtime.spawn(running)))
}
