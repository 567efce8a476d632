//! Validation of single objects, on creation and on update.
//!
//! Pure, shared by our server and the webhook. An update checks immutable fields only: the other
//! checks passed on creation.

use std::fmt::Display;

use machinery::apiserver::Wrong;
use machinery::controllers::key_of_name;
use machinery::objects::{InvalidField, NameRule};

use super::{Cidr, IPLock, NetworkAttachment, Subnet, Vni};
use crate::plan::AddressKey;

const IMMUTABLE: &str = "attempt to update immutable field";

/// Returns the errors of a subnet.
#[must_use]
pub fn validate_subnet(new: &Subnet, old: Option<&Subnet>) -> Vec<Wrong> {
    let (spec, mut errors) = (&new.spec, Vec::new());
    if let Some(old) = old {
        immutable(&mut errors, "spec.vni", spec.vni == old.spec.vni);
        immutable(&mut errors, "spec.ipv4", spec.ipv4 == old.spec.ipv4);
        return errors;
    }
    if let Err(error) = Vni::new(spec.vni) {
        errors.push(invalid("spec.vni", error));
    }
    match spec.ipv4.parse::<Cidr>() {
        Err(error) => errors.push(invalid("spec.ipv4", error)),
        Ok(block) if !block.is_private() => {
            errors.push(invalid("spec.ipv4", "must be compliant with RFC 1918 and is not"));
        }
        Ok(_) => {}
    }
    errors
}

/// Returns the errors of an attachment. Its node and its subnet need not exist, but must have valid
/// names.
#[must_use]
pub fn validate_attachment(new: &NetworkAttachment, old: Option<&NetworkAttachment>) -> Vec<Wrong> {
    let (spec, mut errors) = (&new.spec, Vec::new());
    if let Some(old) = old {
        immutable(&mut errors, "spec.node", spec.node == old.spec.node);
        immutable(&mut errors, "spec.subnet", spec.subnet == old.spec.subnet);
        immutable(&mut errors, "spec.postCreateExec", spec.post_create_exec == old.spec.post_create_exec);
        return errors;
    }
    // Only the names are checked: objects are created in any order.
    name(&mut errors, "spec.node", &spec.node);
    name(&mut errors, "spec.subnet", &spec.subnet);
    errors
}

/// Returns the errors of a lock.
#[must_use]
pub fn validate_lock(new: &IPLock, old: Option<&IPLock>) -> Vec<Wrong> {
    let mut errors = Vec::new();
    if let Some(old) = old {
        immutable(&mut errors, "spec.subnetName", new.spec.subnet_name == old.spec.subnet_name);
        return errors;
    }
    if let Err(error) = key_of_name::<AddressKey>(new.metadata.name.as_deref().unwrap_or_default()) {
        errors.push(invalid("metadata.name", format!("must be v1-VNI-O1-O2-O3-O4: {error}")));
    }
    name(&mut errors, "spec.subnetName", &new.spec.subnet_name);
    errors
}

fn immutable(errors: &mut Vec<Wrong>, field: &str, same: bool) {
    if !same {
        errors.push(Wrong::Forbidden(InvalidField { field: field.into(), reason: IMMUTABLE.into() }));
    }
}

fn name(errors: &mut Vec<Wrong>, field: &str, name: &str) {
    if let Err(error) = NameRule::DnsSubdomain.check(name) {
        errors.push(invalid(field, error));
    }
}

fn invalid(field: &str, reason: impl Display) -> Wrong {
    Wrong::Invalid(InvalidField { field: field.into(), reason: reason.to_string() })
}
