//! The measured network: VNI, addresses, nodes and attachments.

use kos::model::{NetworkAttachment, Subnet, Vni};
use std::net::Ipv4Addr;

/// The namespace of all objects.
pub(super) const NAMESPACE: &str = "default";
const SUBNET: &str = "measured";
const FIRST: Ipv4Addr = Ipv4Addr::new(10, 64, 0, 0);

pub(super) fn vni() -> anyhow::Result<Vni> {
    Ok(Vni::new(17)?)
}

pub(super) fn subnet() -> anyhow::Result<Subnet> {
    Ok(Subnet::new(NAMESPACE, SUBNET, vni()?.number(), &format!("{FIRST}/10")))
}

/// Returns an address of the network. The first two are left free, as IPAM does.
pub(super) fn address(number: usize) -> anyhow::Result<Ipv4Addr> {
    Ok(Ipv4Addr::from(u32::from(FIRST) + 2 + u32::try_from(number)?))
}

/// Returns the name of the node of a host; number zero is the node without a switch.
pub(super) fn node(number: u8) -> String {
    format!("node-{number}")
}

/// Returns the name of an attachment, distinct from those of other processes: a namespace is named
/// after it.
pub(super) fn attachment_name(node: u8, number: usize) -> String {
    format!("mb{}-{node}-{number}", std::process::id())
}

pub(super) fn attachment(on: u8, number: usize) -> NetworkAttachment {
    NetworkAttachment::new(NAMESPACE, &attachment_name(on, number), &node(on), SUBNET)
}

/// Returns the name of an attachment's network namespace.
pub(super) fn workload(on: u8, number: usize) -> String {
    format!("{NAMESPACE}.{}", attachment_name(on, number))
}
