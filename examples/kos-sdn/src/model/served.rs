//! The kinds as registered with our server, and their hooks for a webhook of another one.

use machinery::apiserver::{AdmissionHooks, KindOf};

use super::guard::{conflicts_with_others, networks};
use super::validate::{validate_attachment, validate_lock, validate_subnet};
use super::{IPLock, NetworkAttachment, Probe, Subnet};

/// Subnets. The guard rejects a subnet that overlaps another of its network or has another
/// namespace.
pub fn subnets() -> KindOf<Subnet> {
    KindOf::new().without_rules().validating(validate_subnet).guard(
        "disjoint",
        networks,
        conflicts_with_others,
    )
}

/// Attachments.
pub fn network_attachments() -> KindOf<NetworkAttachment> {
    KindOf::new().without_rules().validating(validate_attachment)
}

/// Address locks.
pub fn ip_locks() -> KindOf<IPLock> {
    KindOf::new().without_rules().validating(validate_lock)
}

/// Probes.
pub fn probes() -> KindOf<Probe> {
    KindOf::new()
}

/// The hooks of all kinds but probes, for a cluster that is not served by `kos` itself. Its webhook
/// stamps section times and rejects invalid objects, but refuses no overlapping subnets.
pub fn webhook_hooks() -> AdmissionHooks {
    let hooks = AdmissionHooks::new("kos.network.example.com").kind(subnets());
    hooks.kind(network_attachments()).kind(ip_locks())
}
