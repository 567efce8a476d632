//! The fabric of a simulated node.

use std::net::Ipv4Addr;
use std::sync::Arc;

use async_trait::async_trait;

use super::explain::explain;
use super::far::Far;
use super::underlay::Underlay;
use crate::drive::{Audit, Fabric, FabricError, Listed, Way};
use crate::plan::{AddressKey, Local, Remote};

/// The fabric of one node of an [`Underlay`], which has all there is of it: another one of the same node finds it as it was.
#[derive(Clone, Debug)]
pub struct SimFabric {
    underlay: Underlay,
    node: Ipv4Addr,
    /// What comes back from nodes in other processes, if there are such.
    far: Option<Arc<Far>>,
}

impl SimFabric {
    pub(super) const fn new(underlay: Underlay, node: Ipv4Addr) -> Self {
        Self { underlay, node, far: None }
    }

    pub(super) fn with(self, far: Arc<Far>) -> Self {
        Self { far: Some(far), ..self }
    }
}

#[async_trait]
impl Fabric for SimFabric {
    fn name(&self) -> &'static str {
        "sim"
    }

    async fn create_local(&self, interface: &Local) -> Result<(), FabricError> {
        self.underlay.with(self.node, |node| node.create_local(interface))?
    }

    async fn delete_local(&self, interface: &Local) -> Result<(), FabricError> {
        self.underlay.with(self.node, |node| node.delete_local(interface))
    }

    async fn create_remote(&self, interface: &Remote) -> Result<(), FabricError> {
        self.underlay.with(self.node, |node| node.create_remote(interface))?
    }

    async fn delete_remote(&self, interface: &Remote) -> Result<(), FabricError> {
        self.underlay.with(self.node, |node| node.delete_remote(interface))
    }

    async fn list(&self) -> Result<Listed, FabricError> {
        self.underlay.with(self.node, |node| node.listed())
    }

    async fn audit(&self) -> Result<Audit, FabricError> {
        self.underlay.with(self.node, super::node::Node::audit)
    }

    async fn ping(&self, from: AddressKey, to: Ipv4Addr, sequence: u16) -> Result<(), FabricError> {
        let pinged = match &self.far {
            Some(far) => far.ping(&self.underlay, self.node, from, (to, sequence)).await,
            None => self.underlay.ping(self.node, from, to, sequence),
        };
        pinged.map_err(|error| FabricError::Failed { what: "a ping", reason: error.to_string() })
    }

    async fn explain(&self, way: Way) -> Result<Vec<String>, FabricError> {
        self.underlay.with(self.node, |node| explain(node, &way))
    }
}
