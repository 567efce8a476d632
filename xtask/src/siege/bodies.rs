//! Bodies and paths of requests that cost more than their size.

use serde_json::{Map, Value, json};

/// Unknown fields under one long key: each error repeats the key.
const FIELDS: usize = 10_000;
const LONG_KEY: usize = 200_000;

fn to_bytes(value: &Value) -> Vec<u8> {
    value.to_string().into_bytes()
}

fn many_fields(value: &Value) -> Value {
    let fields = (0..FIELDS).map(|at| (format!("f{at}"), value.clone()));
    Value::Object(fields.collect::<Map<_, _>>())
}

/// A custom resource of 325 KB with ten thousand unknown fields under one long key.
pub(super) fn long_names() -> Vec<u8> {
    let mut spec = Map::new();
    spec.insert("k".repeat(LONG_KEY), many_fields(&json!(1)));
    to_bytes(&json!({
        "apiVersion": "siege.machinery.dev/v1", "kind": "Kindthings", "metadata": {"generateName": "long-"},
        "spec": spec,
    }))
}

/// An apply of a Pod of 500 KB. Applied by two field managers it conflicts in many fields with long
/// paths.
pub(super) fn long_pod(manager: usize) -> Vec<u8> {
    let annotations = (0..3500).map(|at| (format!("{}-{at}", "a".repeat(50)), json!(manager.to_string())));
    let mut unknown = Map::new();
    unknown.insert("k".repeat(LONG_KEY), many_fields(&json!(manager)));
    to_bytes(&json!({
        "apiVersion": "v1", "kind": "Pod",
        "metadata": {"name": "long", "annotations": annotations.collect::<Map<_, _>>()},
        "spec": {"containers": [{"name": "c", "image": "i", "resources": unknown}]},
    }))
}

/// A review of 2.9 MB with many invalid requirements.
pub(super) fn long_review() -> Vec<u8> {
    let requirement = json!({"key": "k".repeat(40), "operator": "Unknown", "values": ["v"]});
    let requirements = vec![requirement; 29_000];
    to_bytes(&json!({
        "apiVersion": "authorization.k8s.io/v1", "kind": "SelfSubjectAccessReview",
        "spec": {"resourceAttributes": {
            "verb": "list", "resource": "pods", "labelSelector": {"requirements": requirements},
        }},
    }))
}

/// An object of 1 500 unknown fields, each of which becomes a warning.
pub(super) fn warned() -> Vec<u8> {
    let fields = (0..1500).map(|at| (format!("unknown-field-{at}"), json!(at)));
    let mut object = fields.collect::<Map<_, _>>();
    object.insert("metadata".into(), json!({"generateName": "warned-"}));
    to_bytes(&Value::Object(object))
}

/// A ConfigMap of 900 KB, with a text that compresses badly and differs each time.
pub(super) fn long_map(at: usize) -> Vec<u8> {
    let text: String =
        (0..90_000).map(|part| format!("{:010}", (part * 7919 + at * 104_729) % 9_999_999_967)).collect();
    to_bytes(
        &json!({"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "history"}, "data": {"text": text}}),
    )
}

/// A label selector of 60 KB.
pub(super) fn long_selector() -> String {
    let terms: Vec<String> = (0..2500).map(|at| format!("label{at}%21%3Dvalue{at}")).collect();
    terms.join(",")
}

/// A schema with three hundred costly patterns.
pub(super) fn regexes() -> Value {
    let pattern = |at: usize| json!({"type": "string", "pattern": format!("^(([a-z0-9]{{1,60}}){{1,60}}){{1,3}}{at}$")});
    let properties: Map<String, Value> = (0..300).map(|at| (format!("p{at}"), pattern(at))).collect();
    json!({"type": "object", "properties": {"spec": {"type": "object", "properties": properties}}})
}

/// A schema with an enum of 2 MB.
pub(super) fn enumeration() -> Value {
    let values: Vec<Value> = (0..100_000).map(|at| json!(format!("value-{at:010}"))).collect();
    let spec = json!({"type": "object", "properties": {"choice": {"type": "string", "enum": values}}});
    json!({"type": "object", "properties": {"spec": spec}})
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn bodies_have_the_sizes_of_the_attacks_that_succeeded() {
        let check = |body: Vec<u8>, expected: std::ops::Range<usize>| {
            assert!(expected.contains(&body.len()), "{} bytes, and not {expected:?}", body.len());
        };
        check(long_names(), 290_000..360_000);
        check(long_pod(1), 400_000..560_000);
        check(long_review(), 2_500_000..3_100_000);
        check(long_map(1), 880_000..1_000_000);
        check(long_selector().into_bytes(), 55_000..65_000);
    }
}
