//! The fabric of a host.

use kos::drive::Fabric;
use kos::drive::ovs::fabric::{OvsFabric, OvsSettings};
use kos::lab::LabHost;
use kos::plan::ovs::SwitchSettings;
use std::sync::Arc;
use tokio::runtime::Runtime;

/// Returns the fabric of a node with the switch of a host. Its agent runs it.
pub(super) fn start(
    runtime: &Runtime,
    host: &LabHost,
    into_namespaces: bool,
) -> anyhow::Result<Arc<dyn Fabric>> {
    let mut switch = SwitchSettings::new(&host.node, host.address);
    switch.into_namespaces = into_namespaces;
    let settings = OvsSettings::new(switch, &host.run_directory);
    let _entered = runtime.enter();
    Ok(Arc::new(OvsFabric::start(settings)?))
}
