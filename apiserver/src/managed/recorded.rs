//! Compares `managedFields` after a sequence of writes with those recorded from kube-apiserver
//! 1.37.

use serde_json::{Value, json};

use super::tests::{Only, TestSchema, fields};
use super::{Write, updated};

/// The schema of the CustomResourceDefinition that was written to.
fn schema() -> TestSchema {
    let protocol = TestSchema { default: Some(json!("TCP")), ..TestSchema::default() };
    let port =
        fields([("port", TestSchema::default()), ("protocol", protocol), ("name", TestSchema::default())]);
    let spec = fields([
        ("replicas", TestSchema::default()),
        ("tags", TestSchema { set: true, ..TestSchema::default() }),
        (
            "ports",
            TestSchema {
                keys: vec!["port", "protocol"],
                items: Some(Box::new(port)),
                ..TestSchema::default()
            },
        ),
        ("selector", TestSchema { atomic: true, ..TestSchema::default() }),
        ("limits", TestSchema { items: Some(Box::default()), ..TestSchema::default() }),
        ("list", TestSchema::default()),
        ("nested", fields([("a", TestSchema::default()), ("b", fields([("c", TestSchema::default())]))])),
        ("free", TestSchema::default()),
    ]);
    fields([("spec", spec), ("status", TestSchema::default())])
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
