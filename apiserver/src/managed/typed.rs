//! Compares `managedFields` of built-in kinds with those recorded from Kubernetes' own field
//! manager (`record/managed`).

use serde_json::{Value, json};

use super::{ListMeta, NotApplied, Versions, Write, applied, updated};
use crate::builtin::{Type, table};

#[test]
fn writes_to_built_in_kinds_equal_those_of_kubernetes() {
    let sequences: Vec<Value> = serde_json::from_str(include_str!("typed.json")).unwrap();
    for sequence in &sequences {
        let mut live: Option<Value> = None;
        for (at, step) in sequence["steps"].as_array().unwrap().iter().enumerate() {
            let title = format!("{} {at}", sequence["name"]);
            let said = [&step["apply"], &step["result"]].into_iter().find(|it| it.is_object()).unwrap();
            let text = |field: &str| said[field].as_str().unwrap();
            let of = table().kind_of(text("apiVersion"), text("kind")).unwrap();
            let write = Write {
                manager: step["by"].as_str().unwrap(),
                subresource: None,
                api_version: text("apiVersion"),
                now: "2026-01-01T00:00:00Z",
                versions: &TypedRoot(of),
            };
            let made = if step["apply"].is_object() {
                applied(live.as_ref(), &step["apply"], step["force"] == true, &["status"], &write)
            } else {
                let mut new = step["result"].clone();
                new["metadata"]["managedFields"] =
                    live.as_ref().map(|live| live["metadata"]["managedFields"].clone()).unwrap_or_default();
                updated(live.as_ref(), &mut new, &write);
                Ok(new)
            };
            match made {
                Ok(made) => {
                    assert_eq!(plain(&made), plain(&step["result"]), "{title}");
                    live = Some(made);
                }
                Err(NotApplied::Conflicts(conflicts)) => {
                    let told: Vec<_> = conflicts
                        .listed
                        .iter()
                        .map(|one| format!("{}: conflict with {}", one.field, one.with))
                        .collect();
                    assert_eq!(json!(told), step["conflicts"], "{title}");
                }
                Err(why) => panic!("{title}: {why:?}"),
            }
        }
    }
}

struct TypedRoot(&'static Type);

impl Versions for TypedRoot {
    fn lists(&self, _: &str) -> Option<&dyn ListMeta> {
        Some(self.0)
    }
}

/// Removes times, and zero fields that Go writes because they are structs.
fn plain(object: &Value) -> Value {
    let mut object = object.clone();
    let entries = object["metadata"]["managedFields"].take();
    strip(&mut object);
    let mut entries = entries.as_array().cloned().unwrap_or_default();
    for entry in &mut entries {
        entry.as_object_mut().unwrap().remove("time");
    }
    json!([object, entries])
}

fn strip(value: &mut Value) {
    match value {
        Value::Object(fields) => {
            fields.values_mut().for_each(strip);
            let zeros = [json!(null), json!({}), json!([]), json!(0), json!(""), json!(false)];
            fields.retain(|_, value| !zeros.contains(value));
        }
        Value::Array(items) => items.iter_mut().for_each(strip),
        _ => {}
    }
}
