//! CustomResourceDefinitions, from the table of kinds.

use serde_json::{Map, Value, json};

use super::convert::SECRET_REFERENCE;
use super::field::{Field, Shape};
use super::kind::{SdewanKind, ServedResource, StatusForm};
use super::names::{CATEGORY, VERSION};

/// Returns the CustomResourceDefinitions of all kinds in all groups.
#[must_use]
pub fn definitions() -> Vec<Value> {
    SdewanKind::all_served().map(|resource| definition(&resource)).collect()
}

/// Returns the CustomResourceDefinition of a kind in a group.
#[must_use]
pub fn definition(resource: &ServedResource) -> Value {
    let ServedResource { kind, group } = resource;
    let columns = columns(kind);
    json!({
        "apiVersion": "apiextensions.k8s.io/v1", "kind": "CustomResourceDefinition",
        "metadata": {"name": resource.name()},
        "spec": {
            "group": group, "scope": "Namespaced",
            "names": {
                "kind": kind.kind, "listKind": format!("{}List", kind.kind), "plural": kind.plural,
                "singular": kind.kind.to_lowercase(), "categories": [CATEGORY],
            },
            "versions": [{
                "name": VERSION, "served": true, "storage": true,
                "schema": {"openAPIV3Schema": schema(kind)},
                "subresources": {"status": {}},
                "additionalPrinterColumns": columns,
            }],
        },
    })
}

fn schema(kind: &SdewanKind) -> Value {
    let mut spec = object_schema(kind.fields, "The configuration.");
    // Older writers set fields that are unknown here; they are kept for them.
    if kind.status == StatusForm::CnfStatus {
        spec["x-kubernetes-preserve-unknown-fields"] = true.into();
    }
    json!({
        "type": "object", "description": kind.about,
        "properties": {
            "apiVersion": {"type": "string"}, "kind": {"type": "string"}, "metadata": {"type": "object"},
            "spec": spec, "status": status_schema(kind),
        },
    })
}

/// Returns the schema of an object. Required fields with another spelling are not required here,
/// but at admission and by the agent.
fn object_schema(fields: &[Field], about: &str) -> Value {
    let (mut properties, mut required) = (Map::new(), Vec::new());
    for field in fields.iter().filter(|field| field.is_in_cr()) {
        let schema = field_schema(field);
        for spelling in field.spellings {
            if fields.iter().all(|other| other.name != *spelling) {
                let mut deprecated = schema.clone();
                deprecated["description"] = format!("Deprecated spelling of {}.", field.name).into();
                properties.insert((*spelling).to_owned(), deprecated);
            }
        }
        if field.has_secret_reference {
            let about = format!("The Secret with {}: its name, and the key in it.", field.name);
            properties.insert(format!("{}{SECRET_REFERENCE}", field.name), secret_reference(&about));
        }
        if field.is_required && field.spellings.is_empty() && !field.has_secret_reference {
            required.push(Value::from(field.name));
        }
        properties.insert(field.name.to_owned(), schema);
    }
    let mut schema = json!({"type": "object", "description": about, "properties": properties});
    if !required.is_empty() {
        schema["required"] = required.into();
    }
    schema
}

fn secret_reference(about: &str) -> Value {
    json!({
        "type": "object", "description": about, "required": ["name", "key"],
        "properties": {
            "name": {"type": "string", "description": "The name of the Secret, in the namespace of the object."},
            "key": {"type": "string", "description": "The key in the Secret."},
        },
    })
}

fn field_schema(field: &Field) -> Value {
    let mut schema = match field.shape {
        Shape::Text => json!({"type": "string"}),
        Shape::Number => json!({"x-kubernetes-int-or-string": true}),
        Shape::Integer => json!({"type": "integer", "minimum": 1}),
        Shape::Flag => json!({"type": "boolean"}),
        Shape::List => json!({"type": "array", "items": {"type": "string"}}),
        Shape::Objects(fields) => {
            json!({"type": "array", "items": object_schema(fields, "One of them.")})
        }
        Shape::Selector => json!({
            "type": "object",
            "properties": {
                "matchLabels": {"type": "object", "additionalProperties": {"type": "string"}},
                "matchExpressions": {"type": "array", "items": {
                    "type": "object", "required": ["key", "operator"],
                    "properties": {
                        "key": {"type": "string"}, "operator": {"type": "string"},
                        "values": {"type": "array", "items": {"type": "string"}},
                    },
                }},
            },
        }),
    };
    schema["description"] = field.about.into();
    schema
}

/// Returns the schema of a status: unknown fields are kept, as other writers may have more.
fn status_schema(kind: &SdewanKind) -> Value {
    let text = |about: &str| json!({"type": "string", "description": about});
    let number = |about: &str| json!({"type": "integer", "format": "int64", "description": about});
    let properties = match kind.status {
        StatusForm::Rule => json!({
            "state": text("In Sync, Trying to apply, Being delete, Unknown status or Idle."),
            "message": text("The reason if the object is not in sync."),
            "inSync": {"type": "boolean", "description": "Whether every pod of the CNF holds the object."},
            "appliedVersion": text("The resourceVersion that was applied."),
            "appliedGeneration": number("The generation that was applied."),
            "appliedTime": text("The time at which it was applied."),
            "observedGeneration": number("The generation that this status is about."),
            "syncedPods": text("The pods that hold the object, of all."),
            "appliedTo": {"type": "object", "x-kubernetes-preserve-unknown-fields": true,
                "description": "The CNF to which the object was applied."},
            "pods": {"type": "array", "description": "The result of each pod.",
                "items": {"type": "object", "x-kubernetes-preserve-unknown-fields": true}},
            "conditions": {"type": "array", "description": "InSync, DependenciesMet and CNFReady.",
                "items": {"type": "object", "x-kubernetes-preserve-unknown-fields": true}},
        }),
        StatusForm::Resolved(fields) => {
            let mut properties = Map::new();
            for field in fields {
                let (name, schema) = match field.strip_suffix("[]") {
                    Some(name) => (name, json!({"type": "array", "items": {"type": "string"}})),
                    None => (*field, json!({"type": "string"})),
                };
                properties.insert(name.to_owned(), schema);
            }
            properties.insert("message".into(), text("The reason if nothing was resolved."));
            Value::Object(properties)
        }
        StatusForm::CnfStatus => json!({}),
    };
    json!({
        "type": "object", "description": "The state, as the agent reports it.",
        "properties": properties, "x-kubernetes-preserve-unknown-fields": true,
    })
}

fn columns(kind: &SdewanKind) -> Vec<Value> {
    let column = |name: &str, path: &str| json!({"name": name, "type": "string", "jsonPath": path});
    let mut columns = vec![column("Purpose", ".metadata.labels.sdewanPurpose")];
    match kind.status {
        StatusForm::Rule => {
            columns.push(column("State", ".status.state"));
            columns.push(column("Pods", ".status.syncedPods"));
            columns.push(json!({"name": "Applied", "type": "date", "jsonPath": ".status.appliedTime"}));
        }
        StatusForm::Resolved(_) => columns.push(column("Message", ".status.message")),
        StatusForm::CnfStatus => {}
    }
    columns.push(json!({"name": "Age", "type": "date", "jsonPath": ".metadata.creationTimestamp"}));
    columns
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_field_has_a_sentence() {
        fn check(path: &str, schema: &Value) {
            for (name, field) in schema["properties"].as_object().into_iter().flatten() {
                let path = format!("{path}.{name}");
                assert!(field["description"].as_str().is_some_and(|about| about.ends_with('.')), "{path}");
                check(&path, field);
                check(&path, &field["items"]);
            }
        }
        for definition in definitions() {
            let schema = &definition["spec"]["versions"][0]["schema"]["openAPIV3Schema"];
            let spec = json!({"properties": {"spec": schema["properties"]["spec"]}});
            if definition["spec"]["names"]["kind"] != "SdewanApplication" {
                check(definition["metadata"]["name"].as_str().unwrap(), &spec);
            }
        }
        assert_eq!(definitions().len(), 22);
    }
}
