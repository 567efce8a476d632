//! The fabric of a simulated node.

use std::net::Ipv4Addr;
use std::sync::Arc;

use async_trait::async_trait;
use machinery::controllers::Progress;

use super::echo_buffer::EchoBuffer;
use super::explain::explain;
use super::underlay::Underlay;
use crate::drive::{Fabric, FabricError, FabricRepairs, FabricStatus, FramePath, InterfaceList};
use crate::plan::{AddressKey, LocalInterface, RemoteInterface};

/// The fabric of one node of an [`Underlay`], which owns the node's state: a second fabric of the
/// node finds its interfaces.
#[derive(Clone, Debug)]
pub struct SimFabric {
    underlay: Underlay,
    node: Ipv4Addr,
    /// Echo replies from nodes in other processes, if there are any.
    far: Option<Arc<EchoBuffer>>,
}

impl SimFabric {
    pub(super) const fn new(underlay: Underlay, node: Ipv4Addr) -> Self {
        Self { underlay, node, far: None }
    }

    pub(super) fn with(self, far: Arc<EchoBuffer>) -> Self {
        Self { far: Some(far), ..self }
    }
}

#[async_trait]
impl Fabric for SimFabric {
    fn name(&self) -> &'static str {
        "sim"
    }

    async fn create_local(&self, interface: &LocalInterface) -> Result<(), FabricError> {
        self.underlay.with(self.node, |node| node.create_local(interface))?
    }

    async fn delete_local(&self, interface: &LocalInterface) -> Result<(), FabricError> {
        self.underlay.with(self.node, |node| node.delete_local(interface))
    }

    async fn create_remote(&self, interface: &RemoteInterface) -> Result<(), FabricError> {
        self.underlay.with(self.node, |node| node.create_remote(interface))?
    }

    async fn delete_remote(&self, interface: &RemoteInterface) -> Result<(), FabricError> {
        self.underlay.with(self.node, |node| node.delete_remote(interface))
    }

    async fn list(&self) -> Result<InterfaceList, FabricError> {
        self.underlay.with(self.node, |node| node.listed())
    }

    async fn repair(&self, _: &Progress) -> Result<FabricRepairs, FabricError> {
        self.underlay.with(self.node, super::node::SimNode::repair)
    }

    async fn status(&self) -> FabricStatus {
        self.underlay.with(self.node, |node| node.status()).unwrap_or_default()
    }

    async fn ping(&self, from: AddressKey, to: Ipv4Addr, sequence: u16) -> Result<(), FabricError> {
        let pinged = match &self.far {
            Some(far) => far.ping(&self.underlay, self.node, from, (to, sequence)).await,
            None => self.underlay.ping(self.node, from, to, sequence),
        };
        pinged.map_err(|error| FabricError::Failed { what: "a ping", reason: error.to_string() })
    }

    async fn explain(&self, path: FramePath) -> Result<Vec<String>, FabricError> {
        self.underlay.with(self.node, |node| explain(node, &path))
    }
}
