//! Field ownership of the number of replicas: one field of an object, which its `Scale` shows under
//! another name.

use serde_json::Value;

use super::entry::{Managed, Manager, Owned, decode, encode};
use super::{FieldSet, MalformedFields, PathElement};

const VERSION: &str = "autoscaling/v1";

/// The path of the replicas in a `Scale`.
const REPLICAS: &str = "spec.replicas";

/// Returns the entries of a `Scale`: those of the managers that own the replicas, without their
/// other fields. `paths` gives the path of the replicas in a version of the object, in which an
/// entry has its fields.
pub(crate) fn entries_of_scale<'a>(
    entries: Option<&Value>,
    paths: impl Fn(&str) -> Option<Option<&'a str>>,
) -> Result<Value, MalformedFields> {
    let owns = |owned: &Owned| match paths(&owned.api_version).flatten() {
        Some(path) => owned.set.contains(&steps(path)),
        None => false,
    };
    let owners = decode(entries)?.into_iter().filter(|(_, owned)| owns(owned));
    let scale = owners.map(|(manager, owned)| {
        let manager = Manager { api_version: version_of(&manager, VERSION), ..manager };
        (manager, Owned { set: only(&steps(REPLICAS)), api_version: VERSION.into(), time: owned.time })
    });
    Ok(encode(&scale.collect()))
}

/// Returns the entries of the object after its `Scale` was written with these entries: a manager no
/// longer in them loses the replicas, and a new one owns them under `api_version`. As in
/// Kubernetes, entries of versions that do not exist are dropped.
pub(crate) fn entries_of_object<'a>(
    entries: Option<&Value>,
    scale: Option<&Value>,
    paths: impl Fn(&str) -> Option<Option<&'a str>>,
    api_version: &str,
) -> Result<Value, MalformedFields> {
    let mut left = decode(scale)?;
    let replicas = steps(REPLICAS);
    left.retain(|_, owned| owned.set.contains(&replicas));
    let mut managed = Managed::new();
    for (manager, mut owned) in decode(entries)? {
        let Some(path) = paths(&owned.api_version) else { continue };
        let path = path.map(steps).filter(|path| owned.set.contains(path));
        let in_scale = Manager { api_version: version_of(&manager, VERSION), ..manager.clone() };
        if let Some(path) = path.filter(|_| left.remove(&in_scale).is_none()) {
            owned.set = owned.set.difference(&only(&path));
        }
        if !owned.set.is_empty() {
            managed.insert(manager, owned);
        }
    }
    let field = only(&steps(paths(api_version).flatten().unwrap_or_default()));
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

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn entry(manager: &str, api_version: &str, field: &str) -> Value {
        json!({
            "manager": manager, "operation": "Update", "apiVersion": api_version, "fieldsType": "FieldsV1",
            "fieldsV1": {"f:spec": {field: {}}},
        })
    }

    /// Versions may have the replicas under different names. Those of another version than the
    /// request's had no owner in the `Scale`.
    #[test]
    fn replicas_are_owned_across_versions() {
        let paths = |version: &str| match version {
            "example.com/v1" => Some(Some("spec.size")),
            "example.com/v2" => Some(Some("spec.replicas")),
            "example.com/v3" => Some(None),
            _ => None,
        };
        let entries = json!([
            entry("first", "example.com/v1", "f:size"),
            entry("second", "example.com/v2", "f:replicas"),
            entry("third", "example.com/v3", "f:size"),
            entry("gone", "example.com/v0", "f:size"),
        ]);
        let scale = entries_of_scale(Some(&entries), paths).unwrap();
        let names = |entries: &Value| -> Vec<String> {
            entries
                .as_array()
                .unwrap()
                .iter()
                .map(|one| one["manager"].as_str().unwrap().to_owned())
                .collect()
        };
        assert_eq!(names(&scale), ["first", "second"]);
        // The first one gives up the replicas, and another one takes them.
        let after = json!([scale[1], entry("new", VERSION, "f:replicas")]);
        let object = entries_of_object(Some(&entries), Some(&after), paths, "example.com/v1").unwrap();
        let mut owners = names(&object);
        owners.sort();
        assert_eq!(owners, ["new", "second", "third"]);
        let new = object.as_array().unwrap().iter().find(|one| one["manager"] == "new").unwrap();
        assert_eq!(
            (&new["apiVersion"], &new["fieldsV1"]),
            (&json!("example.com/v1"), &json!({"f:spec": {"f:size": {}}}))
        );
    }
}
