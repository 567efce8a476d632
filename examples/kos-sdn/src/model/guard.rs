//! The cross-object invariant of subnets: disjoint and in one namespace per network.

use std::sync::Arc;

use machinery::apiserver::Wrong;
use machinery::objects::InvalidField;

use super::{Cidr, Subnet};

/// Returns the guard keys of a subnet: its network.
#[must_use]
pub fn networks(subnet: &Subnet) -> Vec<String> {
    // A key for each network: writes in different networks do not contend.
    vec![format!("vni/{}", subnet.spec.vni)]
}

/// Returns the conflicts of a subnet with the others of its network: namespace and addresses.
#[must_use]
pub fn conflicts_with_others(subnet: &Subnet, others: &[Arc<Subnet>]) -> Vec<Wrong> {
    let errors = |field: &str, reason: String| Wrong::Forbidden(InvalidField { field: field.into(), reason });
    let mut found = Vec::new();
    for other in others.iter().filter(|other| other.spec.vni == subnet.spec.vni) {
        let rival = qualified_name(other);
        if subnet.metadata.namespace != other.metadata.namespace {
            let reason = format!(
                "subnets with same VNI must be within same namespace, but {rival} has the same VNI and a different namespace"
            );
            found.push(errors("spec.vni", reason));
        }
        if overlap(subnet, other) {
            let reason = format!(
                "subnets with same VNI must have disjoint CIDRs, but {} overlaps with {rival}'s",
                subnet.spec.ipv4
            );
            found.push(errors("spec.ipv4", reason));
        }
    }
    found
}

/// Returns true if two subnets of one network share an address. An unparsable block shares none.
#[must_use]
pub fn overlap(one: &Subnet, other: &Subnet) -> bool {
    let block = |subnet: &Subnet| subnet.spec.ipv4.parse::<Cidr>().ok();
    one.spec.vni == other.spec.vni
        && block(one).zip(block(other)).is_some_and(|(one, other)| one.overlaps(&other))
}

/// Returns `namespace/name`.
fn qualified_name(subnet: &Subnet) -> String {
    let metadata = &subnet.metadata;
    let [namespace, name] =
        [&metadata.namespace, &metadata.name].map(|part| part.as_deref().unwrap_or_default());
    format!("{namespace}/{name}")
}
