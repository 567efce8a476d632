//! The trait through which a node agent controls the switch of its node.

use std::net::Ipv4Addr;

use async_trait::async_trait;
use futures::{StreamExt as _, stream};
use machinery::controllers::{Disturbance, ItemChange, Progress};

use super::{InterfaceBatch, InterfaceChange};
use crate::model::Vni;
use crate::plan::{AddressKey, Interface, LocalInterface, RemoteInterface};

/// The data path of one node: its interfaces, and the flows to interfaces on other nodes.
///
/// - An address of a network has at most one interface, local or remote: a second one is refused
///   until the first is deleted. Of two concurrent calls one succeeds.
/// - Deleting a missing interface succeeds. A different interface of the same address stays.
/// - Interfaces outlive the agent, which lists them at start. They are those that the fabric was
///   given, by this process or an earlier one, and that were not deleted.
/// - A broken interface may be created again, which repairs it or returns the cause; it may be
///   deleted like any other.
///
/// Dropping a future leaves its operation done, undone or partially done: [`list`](Self::list)
/// shows the state, [`repair`](Self::repair) completes it, and deletion removes partial
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

    /// Applies changes of interfaces, by default one by one and concurrently.
    ///
    /// # Errors
    /// The switch as a whole is unusable.
    async fn apply(&self, batch: &InterfaceBatch) -> Result<(), FabricError> {
        let changes: Vec<_> = batch.changes().iter().map(|change| self.apply_one(change, batch)).collect();
        let failed: Vec<_> = stream::iter(changes).buffer_unordered(CONCURRENT_CHANGES).collect().await;
        failed.into_iter().flatten().next().map_or(Ok(()), Err)
    }

    /// Applies and reports one change. Returns an error of the switch, which is not reported.
    #[doc(hidden)]
    async fn apply_one(&self, change: &InterfaceChange, batch: &InterfaceBatch) -> Option<FabricError> {
        let ItemChange { key, from, to } = change;
        let deleted = match from {
            Some(Interface::Local(local)) if from != to => self.delete_local(local).await,
            Some(Interface::Remote(remote)) if from != to => self.delete_remote(remote).await,
            _ => Ok(()),
        };
        let applied = match (deleted, to) {
            (Ok(()), Some(Interface::Local(local))) => self.create_local(local).await,
            (Ok(()), Some(Interface::Remote(remote))) => self.create_remote(remote).await,
            (deleted, _) => deleted,
        };
        match applied {
            Err(error) if error.is_of_the_switch() => return Some(error),
            // It exists already, after a change whose result was lost.
            Err(FabricError::Taken { .. }) if from == to => batch.report(key, Ok(())),
            applied => batch.report(key, applied),
        }
        None
    }

    /// Lists the interfaces, and those that are broken. Changes nothing.
    async fn list(&self) -> Result<InterfaceList, FabricError>;

    /// Compares the switch (bridge, tunnel port, ports, links and flows) with the interfaces that
    /// the fabric was given, and repairs the differences. State outside of the fabric's bridge is
    /// left alone.
    async fn repair(&self, progress: &Progress) -> Result<FabricRepairs, FabricError>;

    /// Resolves when another party may have changed the state of the fabric, or the switch
    /// restarted. Changes since the last call are remembered. Never resolves by default, as for
    /// state that only this process can change.
    async fn disturbed(&self) -> Disturbance {
        std::future::pending().await
    }

    /// Runs the tasks of the fabric, as connections and watches. Polled as long as the agent runs,
    /// and dropped with it.
    async fn run(&self) {
        std::future::pending().await
    }

    /// Returns the state of the switch, without requests to it.
    async fn status(&self) -> FabricStatus;

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

/// Maximum number of concurrent changes of one batch.
const CONCURRENT_CHANGES: usize = 256;

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
    /// Interfaces that the fabric was given and cannot complete; in none of the other lists.
    pub broken: Vec<BrokenInterface>,
}

/// An interface that does not work, and the cause.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct BrokenInterface {
    /// The interface.
    pub interface: Interface,
    /// The cause.
    pub error: FabricError,
}

/// The numbers of repairs of one reconciliation, by kind.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct FabricRepairs {
    /// Bridges created or with corrected settings.
    pub bridges: usize,
    /// Tunnel ports created or with corrected settings.
    pub tunnels: usize,
    /// Missing ports created.
    pub missing_ports: usize,
    /// Undesired ports deleted.
    pub foreign_ports: usize,
    /// Links moved to their namespace or with corrected settings, and orphans deleted.
    pub links: usize,
    /// Missing flows added.
    pub missing_flows: usize,
    /// Undesired flows removed.
    pub foreign_flows: usize,
}

/// The state of a fabric's switch.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct FabricStatus {
    /// Whether the switch answers.
    pub is_reachable: bool,
    /// Number of ports on the fabric's bridge, without the tunnel port.
    pub ports: usize,
    /// Number of flows.
    pub flows: usize,
    /// Interfaces that the fabric was given and that do not work.
    pub broken: Vec<BrokenInterface>,
}

impl FabricRepairs {
    /// Returns the numbers with the names of their kinds.
    #[must_use]
    pub const fn by_kind(&self) -> [(&'static str, usize); 7] {
        [
            ("bridge", self.bridges),
            ("tunnel", self.tunnels),
            ("missing port", self.missing_ports),
            ("foreign port", self.foreign_ports),
            ("link", self.links),
            ("missing flow", self.missing_flows),
            ("foreign flow", self.foreign_flows),
        ]
    }

    /// Returns the numbers that a function has for the names of the kinds.
    #[cfg(test)]
    pub(super) fn of(number: impl Fn(&str) -> usize) -> Self {
        let [bridges, tunnels, missing_ports, foreign_ports, links, missing_flows, foreign_flows] =
            Self::default().by_kind().map(|(kind, _)| number(kind));
        Self { bridges, tunnels, missing_ports, foreign_ports, links, missing_flows, foreign_flows }
    }

    /// Returns the sums of two numbers of each kind.
    #[must_use]
    pub const fn plus(self, other: Self) -> Self {
        Self {
            bridges: self.bridges + other.bridges,
            tunnels: self.tunnels + other.tunnels,
            missing_ports: self.missing_ports + other.missing_ports,
            foreign_ports: self.foreign_ports + other.foreign_ports,
            links: self.links + other.links,
            missing_flows: self.missing_flows + other.missing_flows,
            foreign_flows: self.foreign_flows + other.foreign_flows,
        }
    }

    /// Returns the differences of two numbers of each kind.
    #[cfg(test)]
    pub(super) fn minus(self, before: Self) -> Self {
        let numbers = |one: &Self| one.by_kind().into_iter().collect::<std::collections::BTreeMap<_, _>>();
        let (now, before) = (numbers(&self), numbers(&before));
        Self::of(|kind| now[kind] - before[kind])
    }

    /// Returns the number of repairs of all kinds.
    #[must_use]
    pub fn total(&self) -> usize {
        self.by_kind().iter().map(|(_, number)| number).sum()
    }
}

impl FabricError {
    /// Returns whether the error is one of the switch, not of an interface.
    #[must_use]
    pub const fn is_of_the_switch(&self) -> bool {
        matches!(self, Self::Unavailable { .. } | Self::LockLost { .. } | Self::Degraded { .. })
    }
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
    /// Something of that name exists and is not marked as ours; it is never changed.
    #[error("{what} exists and is not ours: {remedy}")]
    Foreign {
        /// The object.
        what: String,
        /// The remedy.
        remedy: String,
    },
    /// The fabric waits after repeated failures, and retries by itself.
    #[error("the switch works only in part: {reason}; the next attempt follows by itself")]
    Degraded {
        /// The cause.
        reason: String,
    },
    /// The switch, its database or the kernel refused a change.
    #[error("{what} was refused: {reason}")]
    Refused {
        /// The change.
        what: String,
        /// The cause.
        reason: String,
    },
    /// Another agent holds the lock of the node's switch: nothing is written.
    #[error("another agent holds the lock {lock} of this switch: end it, or run this agent on another node")]
    LockLost {
        /// Name of the lock.
        lock: String,
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
