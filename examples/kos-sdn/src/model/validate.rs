//! What is wrong with an object, by itself and beside what it was.
//!
//! Pure, for a server of ours and for a webhook beside another. What a new object was held against it need not be held against again:
//! it never changes.

use std::fmt::Display;

use machinery::apiserver::Wrong;
use machinery::controllers::key_of_name;
use machinery::objects::{InvalidField, NameRule};

use super::{Cidr, IPLock, NetworkAttachment, Subnet, Vni};
use crate::plan::AddressKey;

const NEVER_CHANGES: &str = "attempt to update immutable field";

/// What is wrong with a subnet.
#[must_use]
pub fn validate_subnet(new: &Subnet, old: Option<&Subnet>) -> Vec<Wrong> {
    let (spec, mut wrong) = (&new.spec, Vec::new());
    if let Some(old) = old {
        never_changes(&mut wrong, "spec.vni", spec.vni == old.spec.vni);
        never_changes(&mut wrong, "spec.ipv4", spec.ipv4 == old.spec.ipv4);
        return wrong;
    }
    if let Err(error) = Vni::new(spec.vni) {
        wrong.push(invalid("spec.vni", error));
    }
    match spec.ipv4.parse::<Cidr>() {
        Err(error) => wrong.push(invalid("spec.ipv4", error)),
        Ok(block) if !block.is_private() => {
            wrong.push(invalid("spec.ipv4", "must be compliant with RFC 1918 and is not"));
        }
        Ok(_) => {}
    }
    wrong
}

/// What is wrong with an attachment. Its node and its subnet need not be there, and must have names that such can have.
#[must_use]
pub fn validate_attachment(new: &NetworkAttachment, old: Option<&NetworkAttachment>) -> Vec<Wrong> {
    let (spec, mut wrong) = (&new.spec, Vec::new());
    if let Some(old) = old {
        never_changes(&mut wrong, "spec.node", spec.node == old.spec.node);
        never_changes(&mut wrong, "spec.subnet", spec.subnet == old.spec.subnet);
        never_changes(&mut wrong, "spec.postCreateExec", spec.post_create_exec == old.spec.post_create_exec);
        return wrong;
    }
    name(&mut wrong, "spec.node", &spec.node);
    name(&mut wrong, "spec.subnet", &spec.subnet);
    wrong
}

/// What is wrong with a lock.
#[must_use]
pub fn validate_lock(new: &IPLock, old: Option<&IPLock>) -> Vec<Wrong> {
    let mut wrong = Vec::new();
    if let Some(old) = old {
        never_changes(&mut wrong, "spec.subnetName", new.spec.subnet_name == old.spec.subnet_name);
        return wrong;
    }
    if let Err(error) = key_of_name::<AddressKey>(new.metadata.name.as_deref().unwrap_or_default()) {
        wrong.push(invalid("metadata.name", format!("must be v1-VNI-O1-O2-O3-O4: {error}")));
    }
    name(&mut wrong, "spec.subnetName", &new.spec.subnet_name);
    wrong
}

fn never_changes(wrong: &mut Vec<Wrong>, field: &str, same: bool) {
    if !same {
        wrong.push(Wrong::Forbidden(InvalidField { field: field.into(), reason: NEVER_CHANGES.into() }));
    }
}

fn name(wrong: &mut Vec<Wrong>, field: &str, name: &str) {
    if let Err(error) = NameRule::DnsSubdomain.check(name) {
        wrong.push(invalid(field, error));
    }
}

fn invalid(field: &str, reason: impl Display) -> Wrong {
    Wrong::Invalid(InvalidField { field: field.into(), reason: reason.to_string() })
}
