//! The port to what makes interfaces on a node.

use std::net::Ipv4Addr;

use async_trait::async_trait;

use crate::model::Vni;
use crate::plan::{AddressKey, Local, Remote};

/// What makes interfaces on one node, and the way to those on others.
///
/// - An address of a network is one interface, here or elsewhere: another for the same is refused until that one is deleted. Of two at once one
///   is made.
/// - To delete what is not there is fine, and done. What is there instead stays.
/// - What was made outlives the program. Whoever begins lists first.
///
/// A future that is dropped may have done all, nothing, or a part: a list or an audit tells, and to delete what is there in part is fine.
#[async_trait]
pub trait Fabric: Send + Sync + 'static {
    /// What it is called.
    fn name(&self) -> &'static str;

    /// Makes an interface on this node, and the flows to and from it.
    async fn create_local(&self, interface: &Local) -> Result<(), FabricError>;

    /// Deletes one.
    async fn delete_local(&self, interface: &Local) -> Result<(), FabricError>;

    /// Makes the flows to and from an interface on another node.
    async fn create_remote(&self, interface: &Remote) -> Result<(), FabricError>;

    /// Deletes them.
    async fn delete_remote(&self, interface: &Remote) -> Result<(), FabricError>;

    /// What is there. What is there in part is taken away first.
    async fn list(&self) -> Result<Listed, FabricError>;

    /// Holds the flows against those that should be there, and puts them right. What is not this fabric's is never touched.
    async fn audit(&self) -> Result<Audit, FabricError>;

    /// Lets the machine behind an interface of this node ask who has an address, and for an echo from it. Fine is that the echo came.
    async fn ping(&self, from: AddressKey, to: Ipv4Addr, sequence: u16) -> Result<(), FabricError> {
        let _ = (from, to, sequence);
        Err(self.moves_no_frames("a ping"))
    }

    /// What this node does with frames, and because of which flows, for people.
    async fn explain(&self, way: Way) -> Result<Vec<String>, FabricError> {
        let _ = way;
        Err(self.moves_no_frames("a look at the flows"))
    }

    #[doc(hidden)]
    fn moves_no_frames(&self, what: &'static str) -> FabricError {
        FabricError::Failed { what, reason: format!("the fabric {} moves no frames", self.name()) }
    }
}

/// Which frames: those of a machine of a network, to an address of it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Way {
    /// Who sends them.
    pub from: AddressKey,
    /// To whom.
    pub to: Ipv4Addr,
    /// The node that they come from through the tunnel; none, if the machine is on this node.
    pub host: Option<Ipv4Addr>,
}

/// What is there.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Listed {
    /// On this node.
    pub locals: Vec<Local>,
    /// On others.
    pub remotes: Vec<Remote>,
}

/// What an audit put right.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Audit {
    /// So many flows were not there.
    pub missing: usize,
    /// So many were, and nobody wants them.
    pub foreign: usize,
}

/// What was not done, and why.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum FabricError {
    /// The address is another interface: delete that first.
    #[error("{address} of network {vni} is {by} already: that has to be deleted first")]
    Taken {
        /// The network.
        vni: Vni,
        /// The address.
        address: Ipv4Addr,
        /// Which interface.
        by: String,
    },
    /// There is no room for more on this node.
    #[error("this node has {limit} interfaces, and takes no more")]
    Full {
        /// How many it has room for.
        limit: usize,
    },
    /// It cannot be reached now: try again.
    #[error("the switch cannot be reached: {reason}")]
    Unavailable {
        /// Why.
        reason: String,
    },
    /// It was reached, and did not do it.
    #[error("{what} failed: {reason}")]
    Failed {
        /// What.
        what: &'static str,
        /// Why.
        reason: String,
    },
}
