//! The next step of a node agent for one attachment, computed from desired and actual state.
//!
//! The caller records the result of a step and calls again until nothing is left to do. A crash
//! between two steps needs no recovery: the next call recomputes the step.

use std::net::Ipv4Addr;

use jiff::Timestamp;
use machinery::objects::Object as _;

use super::{AddressKey, LocalInterface, RemoteInterface};
use crate::model::{AttachmentStatus, ExecReport, NetworkAttachment, Vni};

/// Keeps an attachment, and with it its address, until its node has deleted the interface.
pub const FINALIZER: &str = "network.example.com/interface";

/// An interface, local or remote, that a node has or should have.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Interface {
    /// An interface on this node.
    Local(LocalInterface),
    /// The flows to an interface on another node.
    Remote(RemoteInterface),
}

impl Interface {
    /// Returns the address and its network.
    #[must_use]
    pub const fn key(&self) -> AddressKey {
        match self {
            Self::Local(LocalInterface { vni, address, .. })
            | Self::Remote(RemoteInterface { vni, address, .. }) => {
                AddressKey { vni: *vni, address: *address }
            }
        }
    }
}

/// The location of an attachment according to the cached peers.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum PeerLocation {
    /// No peer of this name with a complete location.
    Absent,
    /// The VNI, the address and the underlay address of its node.
    At(Vni, Ipv4Addr, Ipv4Addr),
    /// Two keyed informers hold the name; one of them will receive the deletion.
    Ambiguous,
}

/// The state of one attachment as the agent of a node sees it.
#[derive(Clone, Copy, Debug)]
pub struct AgentView<'a> {
    /// Underlay address of this node.
    pub host: Ipv4Addr,
    /// The attachment, if it is on this node.
    pub here: Option<&'a NetworkAttachment>,
    /// The location of the attachment according to the cached peers.
    pub location: PeerLocation,
    /// The interface that the node has for it.
    pub actual: Option<&'a Interface>,
    /// Report of the program that ran when the interface was created; for an adopted interface, the
    /// report in the status.
    pub report: Option<&'a ExecReport>,
    /// Errors of the attachment on this node: programs not allowed, or the failure of the last
    /// step.
    pub errors: &'a [String],
    /// The time, for conditions that change.
    pub now: Timestamp,
    /// Whether the last step failed: the error is reported and no other step is tried.
    pub failed: bool,
}

/// The next step for an attachment.
#[derive(Clone, Debug, PartialEq)]
pub enum AgentStep {
    /// Add the finalizer, before the interface is created and not earlier: without an agent the
    /// attachment stays deletable.
    AddFinalizer,
    /// Create this interface.
    Create(Interface),
    /// Delete this interface.
    Delete(Interface),
    /// Write this status.
    WriteStatus(Box<AttachmentStatus>),
    /// Remove the finalizer: the node has no interface.
    RemoveFinalizer,
    /// Nothing to do.
    Done,
}

/// Returns the next step.
#[must_use]
pub fn next_step(sight: &AgentView<'_>) -> AgentStep {
    let desired = match (sight.here, sight.location) {
        (Some(here), _) => desired_local(here),
        (None, PeerLocation::Absent) => None,
        (None, PeerLocation::At(vni, address, host)) => {
            Some(Interface::Remote(RemoteInterface::new(vni, address, host)))
        }
        (None, PeerLocation::Ambiguous) => return AgentStep::Done,
    };
    if !sight.failed && desired.as_ref() != sight.actual {
        return match (sight.actual, desired) {
            // Deleted first: a fabric refuses a second interface of an address.
            (Some(actual), _) => AgentStep::Delete(actual.clone()),
            (None, Some(Interface::Local(_))) if !sight.here.is_some_and(has_finalizer) => {
                AgentStep::AddFinalizer
            }
            (None, Some(desired)) => AgentStep::Create(desired),
            (None, None) => AgentStep::Done,
        };
    }
    let Some(here) = sight.here else { return AgentStep::Done };
    let desired_status = desired_status(here, sight);
    let is_deleting = here.metadata.deletion_timestamp.is_some();
    match sight.actual {
        None if is_deleting && has_finalizer(here) && !sight.failed => AgentStep::RemoveFinalizer,
        _ if desired_status != here.status => AgentStep::WriteStatus(Box::new(desired_status)),
        _ => AgentStep::Done,
    }
}

/// Returns the network that an attachment makes its node watch.
#[must_use]
pub fn network_of(here: &NetworkAttachment) -> Option<Vni> {
    match desired_local(here) {
        Some(Interface::Local(local)) => Some(local.vni),
        _ => None,
    }
}

/// Returns the interface that an attachment should have on its node. An attachment without an
/// address or being deleted has none.
pub fn desired_local(here: &NetworkAttachment) -> Option<Interface> {
    let status = &here.status;
    // An address without a lock may be that of another attachment.
    if here.metadata.deletion_timestamp.is_some() || status.lock_uid.is_empty() {
        return None;
    }
    let (vni, address) = (Vni::new(status.address_vni).ok()?, status.ipv4.parse().ok()?);
    Some(Interface::Local(LocalInterface::new(vni, address).with_workload(here.key(), status.prefix_length)))
}

/// Returns the status to report. Unlike the original's, it never names an interface that does not
/// exist.
fn desired_status(here: &NetworkAttachment, sight: &AgentView<'_>) -> AttachmentStatus {
    let mut status = here.status.clone();
    // This also replaces the line by which the IPAM controller reports a silent node.
    status.errors.host = sight.errors.to_vec();
    match sight.actual {
        Some(Interface::Local(local)) => {
            status.mac_address = local.mac.to_string();
            status.ifc_name.clone_from(&local.name);
            status.host_ip = sight.host.to_string();
            let is_reported = match (&status.post_create_exec_report, sight.report) {
                (Some(desired_status), Some(report)) => desired_status.same_result(report),
                (desired_status, report) => desired_status.is_none() && report.is_none(),
            };
            if !is_reported {
                status.post_create_exec_report = sight.report.cloned();
            }
        }
        _ => {
            status.mac_address.clear();
            status.ifc_name.clear();
            status.host_ip.clear();
            status.post_create_exec_report = None;
        }
    }
    let ready = status.ready();
    // Its absence says the same, without a write per new attachment.
    let is_implied = ready.holds == Some(false) && status.errors.host.is_empty();
    if !is_implied || status.conditions.find(ready.name).is_some() {
        status.conditions.set(ready, &here.metadata, sight.now);
    }
    status
}

fn has_finalizer(here: &NetworkAttachment) -> bool {
    here.metadata.finalizers.iter().flatten().any(|finalizer| finalizer == FINALIZER)
}

#[cfg(test)]
mod tests;
