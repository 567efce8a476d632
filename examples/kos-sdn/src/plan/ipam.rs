//! Address assignment: the pool of an attachment, and its status with and without an address.

use jiff::Timestamp;
use machinery::controllers::{Member, Pool};
use machinery::k8s_openapi::apimachinery::pkg::apis::meta::v1::MicroTime;
use machinery::objects::{ObjectKey, Uid};

use super::{AddressKey, Mac, interface_name};
use crate::model::{AttachmentStatus, Cidr, NetworkAttachment, Section, Subnet, Vni};

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

/// Returns the addresses of an attachment's subnet; `None` until the subnet was validated, whose
/// change triggers another run.
///
/// # Errors
/// The attachment cannot have an address.
pub fn address_pool(
    attachment: &NetworkAttachment,
    subnet: Option<&Subnet>,
) -> Result<Option<Pool<AddressKey>>, AddressFailure> {
    let name = || attachment.spec.subnet.clone();
    let subnet = subnet.ok_or_else(|| AddressFailure::Missing(name()))?;
    if !subnet.status.validated {
        return if subnet.status.errors.is_empty() { Ok(None) } else { Err(AddressFailure::Failed(name())) };
    }
    let malformed = || AddressFailure::Malformed(name(), subnet.spec.ipv4.clone());
    subnet_pool(subnet).map(Some).ok_or_else(malformed)
}

/// Returns the usable addresses of a subnet; `None` if its block is malformed.
#[must_use]
pub fn subnet_pool(subnet: &Subnet) -> Option<Pool<AddressKey>> {
    let (vni, usable) = (Vni::new(subnet.spec.vni).ok()?, subnet.spec.ipv4.parse::<Cidr>().ok()?.usable());
    let name = ObjectKey::new(subnet.metadata.namespace.as_deref(), subnet.metadata.name.as_deref()?).ok()?;
    let address = |number: &u32| AddressKey::at(&vni, u128::from(*number));
    Pool::range(name, address(usable.start())?..=address(usable.end())?).ok()
}

/// Returns the address in the status of an attachment.
#[must_use]
pub fn recorded_address(attachment: &NetworkAttachment) -> Option<AddressKey> {
    let status = &attachment.status;
    Some(AddressKey { vni: Vni::new(status.address_vni).ok()?, address: status.ipv4.parse().ok()? })
}

/// Returns whether the node's interface has an address; the agent clears it.
#[must_use]
pub fn is_on_interface(attachment: &NetworkAttachment, key: AddressKey) -> bool {
    attachment.status.ifc_name == interface_name(Mac::of(key.vni, key.address))
}

/// Returns the time since when an attachment waits for a full subnet, if it does.
#[must_use]
pub fn waiting_since(attachment: &NetworkAttachment) -> Option<Timestamp> {
    let is_confirmed = attachment.status.errors.ipam == [AddressFailure::Full.to_string()];
    is_confirmed.then(|| attachment.extended_metadata.written(Section::Address)).flatten()
}

/// Returns the status of an attachment with the address of a lock. Without a lock's UID there is
/// none: the original wrote unlocked addresses after some errors, and two attachments shared them.
#[must_use]
pub fn assigned(
    attachment: &NetworkAttachment,
    subnet: &Subnet,
    key: AddressKey,
    lock: &Uid,
) -> AttachmentStatus {
    let mut status = attachment.status.clone();
    status.errors.ipam.clear();
    status.subnet_creation_time = subnet.extended_metadata.written(Section::Spec).map(MicroTime);
    lock.as_str().clone_into(&mut status.lock_uid);
    status.address_vni = key.vni.number();
    status.ipv4 = key.address.to_string();
    status.prefix_length = subnet.spec.ipv4.parse::<Cidr>().ok().map(|block| block.length());
    status
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
mod tests;
