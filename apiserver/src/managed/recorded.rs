//! Compares `managedFields` after a sequence of writes with those recorded from kube-apiserver
//! 1.37.

use serde_json::{Value, json};

use super::tests::{Only, Schema, fields};
use super::{Write, updated};

/// The schema of the CustomResourceDefinition that was written to.
fn schema() -> Schema {
    let protocol = Schema { default: Some(json!("TCP")), ..Schema::default() };
    let port = fields([("port", Schema::default()), ("protocol", protocol), ("name", Schema::default())]);
    let spec = fields([
        ("replicas", Schema::default()),
        ("tags", Schema { set: true, ..Schema::default() }),
        (
            "ports",
            Schema { keys: vec!["port", "protocol"], items: Some(Box::new(port)), ..Schema::default() },
        ),
        ("selector", Schema { atomic: true, ..Schema::default() }),
        ("limits", Schema { items: Some(Box::default()), ..Schema::default() }),
        ("list", Schema::default()),
        ("nested", fields([("a", Schema::default()), ("b", fields([("c", Schema::default())]))])),
        ("free", Schema::default()),
    ]);
    fields([("spec", spec), ("status", Schema::default())])
}

/// Each step has its writer, the resulting object, and the entries that were sent, unless they are
/// those of the live object.
#[test]
fn writes_are_recorded_as_kube_apiserver_does() {
    let objects: Vec<Vec<Value>> = serde_json::from_str(include_str!("recorded.json")).unwrap();
    let schema = Only("t.io/v1", schema());
    for steps in objects {
        let mut old: Option<Value> = None;
        for step in steps {
            let result = &step["result"];
            let entries = result["metadata"]["managedFields"].as_array().unwrap();
            let now = entries.iter().filter_map(|entry| entry["time"].as_str()).max().unwrap();
            let mut new = result.clone();
            new["metadata"]["managedFields"] = step["sent"].clone();
            let write = Write {
                manager: step["manager"].as_str().unwrap(),
                subresource: step["subresource"].as_str(),
                api_version: "t.io/v1",
                now,
                versions: &schema,
            };
            updated(old.as_ref(), &mut new, &write);
            assert_eq!(&new, result, "{} after {old:?}", step["manager"]);
            old = Some(new);
        }
    }
}
