//! The sample objects of `kos up`: two networks, with an attachment of each on every node.

use crate::model::{NetworkAttachment, Subnet};

/// Namespace of the samples.
pub(super) const NAMESPACE: &str = "default";
/// The networks: name, VNI and block.
const NETWORKS: [(&str, u32, &str); 2] = [("blue", 17, "10.1.0.0/16"), ("red", 18, "10.2.0.0/16")];

pub(super) fn subnets() -> impl Iterator<Item = Subnet> {
    NETWORKS.into_iter().map(|(name, vni, block)| Subnet::new(NAMESPACE, name, vni, block))
}

pub(super) fn attachments<'a>(
    nodes: impl Iterator<Item = &'a str>,
) -> impl Iterator<Item = NetworkAttachment> {
    let one = |number: usize, node: &str, subnet: &str| {
        NetworkAttachment::new(NAMESPACE, &format!("{subnet}-{number}"), node, subnet)
    };
    let numbered = nodes.enumerate().map(|(at, node)| (at + 1, node));
    numbered.flat_map(move |(number, node)| NETWORKS.map(|(name, ..)| one(number, node, name)))
}
