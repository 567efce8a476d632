//! The trait through which a node agent controls the switch of its node.

use std::net::Ipv4Addr;

use async_trait::async_trait;

use crate::model::Vni;
use crate::plan::{AddressKey, LocalInterface, RemoteInterface};

/// The data path of one node: its interfaces, and the flows to interfaces on other nodes.
///
/// - An address of a network has at most one interface, local or remote: a second one is refused
///   until the first is deleted. Of two concurrent calls one succeeds.
/// - Deleting a missing interface succeeds. A different interface of the same address stays.
/// - Interfaces outlive the agent, which lists them at start.
///
/// Dropping a future leaves its operation done, undone or partially done: [`list`](Self::list) and
/// [`reconcile_flows`](Self::reconcile_flows) show the state, and deletion removes partial
/// interfaces.
#[async_trait]
pub trait Fabric: Send + Sync + 'static {
    /// Returns the name of the implementation.
    fn name(&self) -> &'static str;

    /// Creates an interface on this node, and its flows.
    async fn create_local(&self, interface: &LocalInterface) -> Result<(), FabricError>;

    /// Deletes a local interface and its flows.
    async fn delete_local(&self, interface: &LocalInterface) -> Result<(), FabricError>;

    /// Creates the flows of an interface on another node.
    async fn create_remote(&self, interface: &RemoteInterface) -> Result<(), FabricError>;

    /// Deletes the flows of a remote interface.
    async fn delete_remote(&self, interface: &RemoteInterface) -> Result<(), FabricError>;

    /// Lists the interfaces. Partially created ones are deleted first.
    async fn list(&self) -> Result<InterfaceList, FabricError>;

    /// Compares the flows of the switch with the desired ones, and repairs them. Flows that the
    /// fabric does not manage are left alone.
    async fn reconcile_flows(&self) -> Result<FlowRepairs, FabricError>;

    /// Sends an ARP request and an ICMP echo request from a local interface, and waits for the echo
    /// reply. Fails by default, as for a fabric without frames.
    async fn ping(&self, from: AddressKey, to: Ipv4Addr, sequence: u16) -> Result<(), FabricError> {
        let _ = (from, to, sequence);
        Err(self.no_frames_error("a ping"))
    }

    /// Traces the frames of a path through this node's flows, like `ovs-appctl ofproto/trace`.
    /// Returns lines of text. Fails by default.
    async fn explain(&self, path: FramePath) -> Result<Vec<String>, FabricError> {
        let _ = path;
        Err(self.no_frames_error("a trace"))
    }

    #[doc(hidden)]
    fn no_frames_error(&self, what: &'static str) -> FabricError {
        FabricError::Failed { what, reason: format!("the fabric {} carries no frames", self.name()) }
    }
}

/// The path of frames to trace through a node.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct FramePath {
    /// Source: an interface of a network.
    pub from: AddressKey,
    /// Destination address.
    pub to: Ipv4Addr,
    /// Underlay address of the node that sent the frames into the tunnel; `None` if the source is
    /// on this node.
    pub host: Option<Ipv4Addr>,
}

/// The interfaces of a node.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct InterfaceList {
    /// Local interfaces.
    pub locals: Vec<LocalInterface>,
    /// Remote interfaces.
    pub remotes: Vec<RemoteInterface>,
}

/// The numbers of flows that a flow reconciliation repaired.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct FlowRepairs {
    /// Number of missing flows added.
    pub missing: usize,
    /// Number of undesired flows removed.
    pub foreign: usize,
}

/// The reason why a fabric call failed.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum FabricError {
    /// The address has another interface, which must be deleted first.
    #[error("{address} of network {vni} is {by} already: that has to be deleted first")]
    Taken {
        /// VNI of the network.
        vni: Vni,
        /// The address.
        address: Ipv4Addr,
        /// Description of the other interface.
        by: String,
    },
    /// The limit of interfaces is reached.
    #[error("this node has reached its limit of {limit} interfaces")]
    Full {
        /// The limit.
        limit: usize,
    },
    /// The switch is unreachable: retry.
    #[error("the switch cannot be reached: {reason}")]
    Unavailable {
        /// The cause.
        reason: String,
    },
    /// The operation failed, or the fabric does not support it.
    #[error("{what} failed: {reason}")]
    Failed {
        /// The operation.
        what: &'static str,
        /// The cause.
        reason: String,
    },
}
