//! The kinds as our server has them: with what it notes and refuses.

use machinery::apiserver::KindOf;

use super::definition::definition;
use super::guard::{beside, networks};
use super::stamp::{stamp_attachment, stamp_lock, stamp_subnet};
use super::validate::{validate_attachment, validate_lock, validate_subnet};
use super::{IPLock, NetworkAttachment, Probe, Subnet};

/// Subnets. Those of a network are disjoint and in one namespace: who comes second is refused.
pub fn subnets() -> KindOf<Subnet> {
    KindOf::defined(definition::<Subnet>())
        .validating(validate_subnet)
        .stamping(stamp_subnet)
        .guard("disjoint", networks, beside)
}

/// Attachments.
pub fn network_attachments() -> KindOf<NetworkAttachment> {
    KindOf::defined(definition::<NetworkAttachment>())
        .validating(validate_attachment)
        .stamping(stamp_attachment)
}

/// Locks on addresses.
pub fn ip_locks() -> KindOf<IPLock> {
    KindOf::defined(definition::<IPLock>()).validating(validate_lock).stamping(stamp_lock)
}

/// Probes.
pub fn probes() -> KindOf<Probe> {
    KindOf::new()
}
