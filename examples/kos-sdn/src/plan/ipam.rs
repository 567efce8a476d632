//! Which address an attachment gets: decisions about one attachment, from what is known of it.
//!
//! All safety is in the locks: an address is an attachment's because a lock says so, and caches are hints. A crash between the lock and
//! the status loses nothing: the lock is found by its owner and its address is used.

use std::net::Ipv4Addr;
use std::ops::RangeInclusive;

use jiff::Timestamp;
use machinery::k8s_openapi::apimachinery::pkg::apis::meta::v1::MicroTime;

use super::{AddressKey, Mac, interface_name};
use crate::model::{AttachmentStatus, Cidr, NetworkAttachment, Section, Subnet, Vni};

/// What is known of an attachment.
#[derive(Clone, Copy, Debug)]
pub struct View<'a> {
    /// It, if it is there.
    pub attachment: Option<&'a NetworkAttachment>,
    /// The UID of the one that was there and is not, if one saw it go.
    pub gone: Option<&'a str>,
    /// The subnet that it refers to, if that is there.
    pub subnet: Option<&'a Subnet>,
    /// All locks whose owner has its name, whatever the UID.
    pub locks: &'a [OwnedLock],
}

/// A lock, and whose it is.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct OwnedLock {
    /// On which address.
    pub key: AddressKey,
    /// Its UID.
    pub uid: String,
    /// The UID of the attachment that has it.
    pub owner_uid: String,
    /// When it was made.
    pub created: Option<Timestamp>,
}

/// What to do.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Decision {
    /// These locks are to be given back, each if it still has its UID.
    pub release: Vec<OwnedLock>,
    /// Then this.
    pub step: Step,
}

/// What to do about the address.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Step {
    /// Nothing: all is as it should be, or nobody wants one any more.
    Done,
    /// Nothing yet: the subnet is not examined, and its change will come.
    Wait,
    /// It has none, for this reason: to be written, if the status does not say so.
    None(Trouble),
    /// It has one: to be written.
    Write(Address),
    /// One of these is to be picked and locked.
    Pick {
        /// In this network.
        vni: Vni,
        /// Of these.
        range: RangeInclusive<u32>,
    },
}

/// Why an attachment has no address.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum Trouble {
    /// There is no such subnet.
    #[error("Subnet {0} does not exist")]
    Missing(String),
    /// Others are in its way.
    #[error("Subnet {0} has not passed validation")]
    Failed(String),
    /// Its block cannot be read.
    #[error("Subnet {0} has malformed IPv4 CIDR block ({1})")]
    Malformed(String, String),
    /// All its addresses are taken.
    #[error("Referenced subnet has run out of IPs")]
    Full,
}

/// An address that a lock is held on. There is none without a lock: the original wrote such ones after some errors, and two attachments
/// shared them.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Address {
    key: AddressKey,
    lock_uid: String,
}

/// Decides.
#[must_use]
pub fn decide(view: &View<'_>) -> Decision {
    let nothing = |step| Decision { release: Vec::new(), step };
    let Some(attachment) = view.attachment else {
        // Others of the name may have locks by now: theirs stay. What nobody saw go is collected as garbage.
        let release =
            view.locks.iter().filter(|lock| Some(lock.owner_uid.as_str()) == view.gone).cloned().collect();
        return Decision { release, step: Step::Done };
    };
    if attachment.metadata.deletion_timestamp.is_some() {
        // Its node may still have the interface. When it is gone, the attachment goes, and then its locks.
        return nothing(Step::Done);
    }
    let name = || attachment.spec.subnet.clone();
    let Some(subnet) = view.subnet else { return nothing(Step::None(Trouble::Missing(name()))) };
    if !subnet.status.validated {
        let failed = !subnet.status.errors.is_empty();
        return nothing(if failed { Step::None(Trouble::Failed(name())) } else { Step::Wait });
    }
    let (Ok(vni), Ok(block)) = (Vni::new(subnet.spec.vni), subnet.spec.ipv4.parse::<Cidr>()) else {
        return nothing(Step::None(Trouble::Malformed(name(), subnet.spec.ipv4.clone())));
    };
    of_locks(attachment, vni, &block, view.locks)
}

/// Decides by the locks that an attachment has, where its subnet is good.
fn of_locks(attachment: &NetworkAttachment, vni: Vni, block: &Cidr, locks: &[OwnedLock]) -> Decision {
    let uid = attachment.metadata.uid.as_deref().unwrap_or_default();
    let status = &attachment.status;
    let own = locks.iter().filter(|lock| lock.owner_uid == uid);
    let is_wanted = |lock: &&OwnedLock| lock.key.vni == vni && block.contains(lock.key.address);
    let (wanted, unwanted): (Vec<&OwnedLock>, Vec<&OwnedLock>) = own.partition(is_wanted);
    let told =
        |lock: &&&OwnedLock| lock.uid == status.lock_uid && status.ipv4 == lock.key.address.to_string();
    let (kept, is_told) = match wanted.iter().find(told) {
        Some(lock) => (Some(*lock), true),
        None => (wanted.iter().copied().min_by(|a, b| best_first(a, b)), false),
    };
    // As long as the status does not tell of the one that is kept, another who decides may be about to tell of a spare one.
    let spare = wanted.into_iter().filter(|lock| is_told && Some(*lock) != kept);
    // What the status tells of is not free, nor what the node has an interface of: each says so when it has not.
    let is_used = |lock: &&OwnedLock| {
        lock.uid == status.lock_uid
            || status.ifc_name == interface_name(Mac::of(lock.key.vni, lock.key.address))
    };
    let release = unwanted.into_iter().chain(spare).filter(|lock| !is_used(lock)).cloned().collect();
    let is_complete = is_told && status.address_vni == vni.number() && status.errors.ipam.is_empty();
    let step = match kept {
        None => Step::Pick { vni, range: block.usable() },
        Some(_) if is_complete => Step::Done,
        Some(lock) => address_of(lock).map_or(Step::Wait, Step::Write),
    };
    Decision { release, step }
}

/// The oldest; of two of one moment, the one with the greater UID: so that all who decide agree.
fn best_first(one: &OwnedLock, other: &OwnedLock) -> std::cmp::Ordering {
    one.created.cmp(&other.created).then_with(|| other.uid.cmp(&one.uid))
}

/// The address that a lock is on; nothing, if the lock has no UID and hence was never written.
#[must_use]
pub fn address_of(lock: &OwnedLock) -> Option<Address> {
    (!lock.uid.is_empty()).then(|| Address { key: lock.key, lock_uid: lock.uid.clone() })
}

impl Address {
    /// Which it is.
    #[must_use]
    pub const fn address(&self) -> Ipv4Addr {
        self.key.address
    }

    /// The status of an attachment that has it, of this subnet.
    #[must_use]
    pub fn written(&self, attachment: &NetworkAttachment, subnet: &Subnet) -> AttachmentStatus {
        let mut status = attachment.status.clone();
        status.errors.ipam.clear();
        status.subnet_creation_time = subnet.extended_metadata.written(Section::Spec).map(MicroTime);
        status.lock_uid.clone_from(&self.lock_uid);
        status.address_vni = self.key.vni.number();
        status.ipv4 = self.key.address.to_string();
        status
    }
}

impl Trouble {
    /// The status of an attachment that has it, and no address. Its locks are kept: a subnet that comes back gives it the address back.
    #[must_use]
    pub fn written(&self, attachment: &NetworkAttachment) -> AttachmentStatus {
        let mut status = attachment.status.clone();
        status.errors.ipam = vec![self.to_string()];
        status.address_contention |= *self == Self::Full;
        status.subnet_creation_time = None;
        status.lock_uid.clear();
        status.address_vni = 0;
        status.ipv4.clear();
        status
    }
}

#[cfg(test)]
mod model;
#[cfg(test)]
mod tests;
