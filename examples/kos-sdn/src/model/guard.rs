//! What must be so of subnets beside each other.

use std::sync::Arc;

use machinery::apiserver::Wrong;
use machinery::objects::InvalidField;

use super::{Cidr, Subnet};

/// The keys that a subnet is guarded by: that of its network.
#[must_use]
pub fn networks(subnet: &Subnet) -> Vec<String> {
    vec![format!("vni/{}", subnet.spec.vni)]
}

/// What others of its network have against a subnet: another namespace, or an address of it.
#[must_use]
pub fn beside(subnet: &Subnet, others: &[Arc<Subnet>]) -> Vec<Wrong> {
    let wrong = |field: &str, reason: String| Wrong::Forbidden(InvalidField { field: field.into(), reason });
    let mut found = Vec::new();
    for other in others.iter().filter(|other| other.spec.vni == subnet.spec.vni) {
        let whose = place(other);
        if subnet.metadata.namespace != other.metadata.namespace {
            let reason = format!(
                "subnets with same VNI must be within same namespace, but {whose} has the same VNI and a different namespace"
            );
            found.push(wrong("spec.vni", reason));
        }
        if overlap(subnet, other) {
            let reason = format!(
                "subnets with same VNI must have disjoint CIDRs, but {} overlaps with {whose}'s",
                subnet.spec.ipv4
            );
            found.push(wrong("spec.ipv4", reason));
        }
    }
    found
}

/// Whether two subnets are of one network and share an address. One whose block cannot be read shares none.
#[must_use]
pub fn overlap(one: &Subnet, other: &Subnet) -> bool {
    let block = |subnet: &Subnet| subnet.spec.ipv4.parse::<Cidr>().ok();
    one.spec.vni == other.spec.vni
        && block(one).zip(block(other)).is_some_and(|(one, other)| one.overlaps(&other))
}

/// Its namespace and its name.
fn place(subnet: &Subnet) -> String {
    let metadata = &subnet.metadata;
    let [namespace, name] =
        [&metadata.namespace, &metadata.name].map(|part| part.as_deref().unwrap_or_default());
    format!("{namespace}/{name}")
}
