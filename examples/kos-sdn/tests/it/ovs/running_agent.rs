//! A running agent of a host.

use std::net::Ipv4Addr;
use std::sync::Arc;
use std::time::Duration;

use kos::drive::ovs::fabric::OvsFabric;
use machinery::Plane;

/// An agent, with its own connection to the server.
pub(super) struct RunningAgent {
    pub(super) plane: Plane,
    pub(super) fabric: Arc<OvsFabric>,
    pub(super) address: Ipv4Addr,
}

impl RunningAgent {
    /// Ends the agent without cleanup, as a killed process does.
    pub(super) async fn kill(self) {
        self.plane.stop_within(Duration::ZERO).await;
    }
}
