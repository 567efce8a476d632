//! Address assignment: the decision for one attachment, computed from caches.
//!
//! Safety rests on the locks: an attachment holds an address because a lock says so, and caches are
//! hints. A crash between the creation of the lock and the write of the status loses nothing: the
//! next run finds the lock by its owner and uses its address.

use std::net::Ipv4Addr;
use std::ops::RangeInclusive;

use jiff::Timestamp;
use machinery::k8s_openapi::apimachinery::pkg::apis::meta::v1::MicroTime;

use super::{AddressKey, Mac, interface_name};
use crate::model::{AttachmentStatus, Cidr, NetworkAttachment, Section, Subnet, Vni};

/// The cached state of one attachment.
#[derive(Clone, Copy, Debug)]
pub struct IpamView<'a> {
    /// The attachment, if it exists.
    pub attachment: Option<&'a NetworkAttachment>,
    /// UID of a deleted attachment of this name, if the deletion was observed.
    pub gone: Option<&'a str>,
    /// The subnet that the attachment refers to, if it exists.
    pub subnet: Option<&'a Subnet>,
    /// Locks of owners with the attachment's name and any UID.
    pub locks: &'a [OwnedLock],
}

/// A lock and its owner.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct OwnedLock {
    /// The locked address.
    pub key: AddressKey,
    /// UID of the lock.
    pub uid: String,
    /// UID of the owning attachment.
    pub owner_uid: String,
    /// Creation time.
    pub created: Option<Timestamp>,
}

/// The decision for one attachment.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct IpamDecision {
    /// Locks to release, each with its UID as precondition.
    pub release: Vec<OwnedLock>,
    /// The step to take afterwards.
    pub step: IpamStep,
}

/// The step that gives an attachment its address.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum IpamStep {
    /// Nothing to do.
    Done,
    /// Wait: the subnet is not validated yet, and its change triggers another run.
    Wait,
    /// Write this failure to the status, unless it is there already.
    None(AddressFailure),
    /// Write this address to the status.
    Write(LockedAddress),
    /// Allocate an address and lock it.
    Pick {
        /// VNI of the network.
        vni: Vni,
        /// Usable addresses.
        range: RangeInclusive<u32>,
    },
}

/// The reason why an attachment has no address.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum AddressFailure {
    /// The subnet does not exist.
    #[error("Subnet {0} does not exist")]
    Missing(String),
    /// The subnet failed validation.
    #[error("Subnet {0} has not passed validation")]
    Failed(String),
    /// The block of the subnet is unparsable.
    #[error("Subnet {0} has malformed IPv4 CIDR block ({1})")]
    Malformed(String, String),
    /// All addresses of the subnet are taken.
    #[error("Referenced subnet has run out of IPs")]
    Full,
}

/// An address with the lock that holds it. It cannot be constructed without a lock: the original
/// wrote unlocked addresses after some errors, and two attachments shared them.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct LockedAddress {
    key: AddressKey,
    lock_uid: String,
}

/// Returns the decision.
#[must_use]
pub fn decide(view: &IpamView<'_>) -> IpamDecision {
    let nothing = |step| IpamDecision { release: Vec::new(), step };
    let Some(attachment) = view.attachment else {
        // A recreated attachment may have locks of this name: those stay. Locks of an unobserved
        // deletion are left to the garbage collector.
        let release =
            view.locks.iter().filter(|lock| Some(lock.owner_uid.as_str()) == view.gone).cloned().collect();
        return IpamDecision { release, step: IpamStep::Done };
    };
    if attachment.metadata.deletion_timestamp.is_some() {
        // The node may still have the interface. The finalizer keeps the attachment until it is
        // deleted, then its locks follow.
        return nothing(IpamStep::Done);
    }
    let name = || attachment.spec.subnet.clone();
    let Some(subnet) = view.subnet else { return nothing(IpamStep::None(AddressFailure::Missing(name()))) };
    if !subnet.status.validated {
        let failed = !subnet.status.errors.is_empty();
        return nothing(if failed { IpamStep::None(AddressFailure::Failed(name())) } else { IpamStep::Wait });
    }
    let (Ok(vni), Ok(block)) = (Vni::new(subnet.spec.vni), subnet.spec.ipv4.parse::<Cidr>()) else {
        return nothing(IpamStep::None(AddressFailure::Malformed(name(), subnet.spec.ipv4.clone())));
    };
    decide_by_locks(attachment, vni, &block, view.locks)
}

/// Decides by the locks that an attachment holds in a validated subnet.
fn decide_by_locks(
    attachment: &NetworkAttachment,
    vni: Vni,
    block: &Cidr,
    locks: &[OwnedLock],
) -> IpamDecision {
    let uid = attachment.metadata.uid.as_deref().unwrap_or_default();
    let status = &attachment.status;
    let own = locks.iter().filter(|lock| lock.owner_uid == uid);
    let is_in_block = |lock: &&OwnedLock| lock.key.vni == vni && block.contains(lock.key.address);
    let (inside, outside): (Vec<&OwnedLock>, Vec<&OwnedLock>) = own.partition(is_in_block);
    let is_in_status =
        |lock: &&&OwnedLock| lock.uid == status.lock_uid && status.ipv4 == lock.key.address.to_string();
    let (kept, is_written) = match inside.iter().find(is_in_status) {
        Some(lock) => (Some(*lock), true),
        None => (inside.iter().copied().min_by(|a, b| best_first(a, b)), false),
    };
    // Until the status names the kept lock, another controller may be about to write a spare one.
    let spare = inside.into_iter().filter(|lock| is_written && Some(*lock) != kept);
    // Neither the address in the status nor that of the node's interface is free; each writer
    // clears its own part.
    let is_used = |lock: &&OwnedLock| {
        lock.uid == status.lock_uid
            || status.ifc_name == interface_name(Mac::of(lock.key.vni, lock.key.address))
    };
    let release = outside.into_iter().chain(spare).filter(|lock| !is_used(lock)).cloned().collect();
    let is_complete = is_written
        && (status.address_vni, status.prefix_length) == (vni.number(), Some(block.length()))
        && status.errors.ipam.is_empty();
    let step = match kept {
        None => IpamStep::Pick { vni, range: block.usable() },
        Some(_) if is_complete => IpamStep::Done,
        Some(lock) => locked_address(lock).map_or(IpamStep::Wait, IpamStep::Write),
    };
    IpamDecision { release, step }
}

/// Orders by creation time, then by descending UID, so that all controllers choose the same lock.
fn best_first(one: &OwnedLock, other: &OwnedLock) -> std::cmp::Ordering {
    one.created.cmp(&other.created).then_with(|| other.uid.cmp(&one.uid))
}

/// Returns the address of a lock, or `None` for a lock without UID: it was never written.
#[must_use]
pub fn locked_address(lock: &OwnedLock) -> Option<LockedAddress> {
    (!lock.uid.is_empty()).then(|| LockedAddress { key: lock.key, lock_uid: lock.uid.clone() })
}

impl LockedAddress {
    /// Returns the address.
    #[must_use]
    pub const fn address(&self) -> Ipv4Addr {
        self.key.address
    }

    /// Returns the status of an attachment with this address.
    #[must_use]
    pub fn written(&self, attachment: &NetworkAttachment, subnet: &Subnet) -> AttachmentStatus {
        let mut status = attachment.status.clone();
        status.errors.ipam.clear();
        status.subnet_creation_time = subnet.extended_metadata.written(Section::Spec).map(MicroTime);
        status.lock_uid.clone_from(&self.lock_uid);
        status.address_vni = self.key.vni.number();
        status.ipv4 = self.key.address.to_string();
        status.prefix_length = subnet.spec.ipv4.parse::<Cidr>().ok().map(|block| block.length());
        status
    }
}

impl AddressFailure {
    /// Returns the status of an attachment without an address. Its locks are kept: a subnet that is
    /// recreated gives the same address.
    #[must_use]
    pub fn written(&self, attachment: &NetworkAttachment) -> AttachmentStatus {
        let mut status = attachment.status.clone();
        status.errors.ipam = vec![self.to_string()];
        status.address_contention |= *self == Self::Full;
        status.subnet_creation_time = None;
        status.lock_uid.clear();
        status.address_vni = 0;
        status.ipv4.clear();
        status.prefix_length = None;
        status
    }
}

#[cfg(test)]
mod model;
#[cfg(test)]
mod tests;
