//! The trait through which the fabric reaches links.

use std::net::Ipv4Addr;
use std::time::Duration;

use async_trait::async_trait;

use super::{Link, LinkError, LinkEvents, LinkList, LinkPlace, LinkStep, LinkStepError, NamespaceName};

/// Network interfaces of the switch's namespace, and of the owner's workload namespaces.
///
/// A value has one owner, a text such as the node with the run directory of its switch. Each
/// namespace that it creates is marked with that text, and only marked namespaces are listed,
/// changed or deleted.
#[async_trait]
pub trait Links: Send + Sync + 'static {
    /// Lists links and namespaces. Changes nothing.
    async fn list(&self) -> Result<LinkList, LinkError>;

    /// Lists the links of one place, without loopback. A missing namespace is an error.
    async fn list_place(&self, place: &LinkPlace) -> Result<Vec<Link>, LinkError>;

    /// Executes steps in order, up to the first failure.
    ///
    /// Dropping the future leaves the current step done or undone, and later ones undone.
    async fn apply(&self, steps: &[LinkStep]) -> Result<(), LinkStepError>;

    /// Starts to watch. Changes after the call are reported, the caller's own included.
    ///
    /// The watch covers the switch's namespace of this moment, workload namespaces into which links
    /// were moved, and names below `/run/netns`.
    async fn watch(&self) -> Result<LinkEvents, LinkError>;

    /// Sends an ICMP echo request from a workload's namespace, and waits for the reply.
    async fn ping(&self, request: &EchoRequest) -> Result<(), LinkError>;
}

/// An ICMP echo request.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct EchoRequest {
    /// The namespace to send from.
    pub namespace: NamespaceName,
    /// Source address: one of the namespace.
    pub from: Ipv4Addr,
    /// Destination address.
    pub to: Ipv4Addr,
    /// Sequence number.
    pub sequence: u16,
    /// Maximum time to wait for the reply.
    pub time_limit: Duration,
}
