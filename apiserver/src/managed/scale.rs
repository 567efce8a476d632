//! Field ownership of the number of replicas: one field of an object, which its `Scale` shows under
//! another name.

use serde_json::Value;

use super::entry::{Managed, Manager, Owned, decode, encode};
use super::{FieldSet, MalformedFields, PathElement};

const VERSION: &str = "autoscaling/v1";

/// The path of the replicas in a `Scale`.
const REPLICAS: &str = "spec.replicas";

/// Returns the entries of a `Scale`: those of the managers that own the replicas, without their
/// other fields.
pub(crate) fn entries_of_scale(entries: Option<&Value>, path: &str) -> Result<Value, MalformedFields> {
    let path = steps(path);
    let owners = decode(entries)?.into_iter().filter(|(_, owned)| owned.set.contains(&path));
    let scale = owners.map(|(manager, owned)| {
        let manager = Manager { api_version: version_of(&manager, VERSION), ..manager };
        (manager, Owned { set: only(&steps(REPLICAS)), api_version: VERSION.into(), time: owned.time })
    });
    Ok(encode(&scale.collect()))
}

/// Returns the entries of the object after its `Scale` was written with these entries: a manager no
/// longer in them loses the replicas, and a new one owns them under `api_version`.
pub(crate) fn entries_of_object(
    entries: Option<&Value>,
    scale: Option<&Value>,
    path: &str,
    api_version: &str,
) -> Result<Value, MalformedFields> {
    let path = steps(path);
    let field = only(&path);
    let mut left = decode(scale)?;
    let replicas = steps(REPLICAS);
    left.retain(|_, owned| owned.set.contains(&replicas));
    let mut managed = Managed::new();
    for (manager, mut owned) in decode(entries)? {
        let in_scale = Manager { api_version: version_of(&manager, VERSION), ..manager.clone() };
        if owned.set.contains(&path) && left.remove(&in_scale).is_none() {
            owned.set = owned.set.difference(&field);
        }
        if !owned.set.is_empty() {
            managed.insert(manager, owned);
        }
    }
    for (manager, owned) in left {
        let manager = Manager { api_version: version_of(&manager, api_version), ..manager };
        managed.insert(manager, Owned { set: field.clone(), api_version: api_version.into(), ..owned });
    }
    Ok(encode(&managed))
}

/// An applier has the same key in every version.
fn version_of(manager: &Manager, version: &str) -> String {
    if manager.applied { String::new() } else { version.into() }
}

fn steps(path: &str) -> Vec<PathElement> {
    path.split('.').map(|name| PathElement::Field(name.into())).collect()
}

fn only(path: &[PathElement]) -> FieldSet {
    let mut set = FieldSet::default();
    set.insert(path);
    set
}
