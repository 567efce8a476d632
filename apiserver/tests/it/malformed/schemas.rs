//! Definitions of kinds that cannot be.

use serde_json::{Value, json};

use super::row::{BAD, CRDS, ExpectedAnswer, INVALID, JSON, Row};

/// The answer to a value of a wrong type, also within a schema.
const OF_TYPE: ExpectedAnswer = BAD;

fn definition(change: impl FnOnce(&mut Value)) -> Value {
    let mut definition = json!({
        "apiVersion": "apiextensions.k8s.io/v1", "kind": "CustomResourceDefinition",
        "metadata": {"name": "gadgets.example.com"},
        "spec": {
            "group": "example.com", "scope": "Namespaced", "names": {"plural": "gadgets", "kind": "Gadget"},
            "versions": [{
                "name": "v1", "served": true, "storage": true,
                "schema": {"openAPIV3Schema": {"type": "object", "properties": {"spec": {"type": "object"}}}},
            }],
        },
    });
    change(&mut definition);
    definition
}

fn row(expected: ExpectedAnswer, change: impl FnOnce(&mut Value)) -> Row {
    Row::post(&format!("{CRDS}?dryRun=All"), JSON, definition(change).to_string(), expected)
}

pub(super) fn rows() -> Vec<Row> {
    let mut rows = Vec::new();
    for name in ["gadgets", "gadgets.other.com", "GADGETS.example.com", "widgets.example.com.", "a/b", ""] {
        rows.push(row(INVALID, |it| it["metadata"]["name"] = name.into()));
    }
    for (place, value, expected) in [
        ("/spec/group", json!(""), INVALID),
        ("/spec/group", json!("Example.com"), INVALID),
        ("/spec/group", json!("example"), INVALID),
        ("/spec/group", json!("a b.com"), INVALID),
        ("/spec/group", json!(1), OF_TYPE),
        ("/spec/scope", json!("Everywhere"), INVALID),
        ("/spec/scope", json!(""), INVALID),
        ("/spec/scope", json!([]), OF_TYPE),
        ("/spec/names", json!({}), INVALID),
        ("/spec/names", json!("gadgets"), OF_TYPE),
        ("/spec/names/plural", json!("Gadgets"), INVALID),
        ("/spec/names/plural", json!("gad gets"), INVALID),
        ("/spec/names/plural", json!(""), INVALID),
        ("/spec/names/kind", json!(""), INVALID),
        ("/spec/names/kind", json!("gad get"), INVALID),
        ("/spec/names/kind", json!("-"), INVALID),
        ("/spec/names/shortNames", json!("g"), OF_TYPE),
        ("/spec/names/shortNames", json!(["G G"]), INVALID),
        ("/spec/names/categories", json!([1]), OF_TYPE),
        ("/spec/versions", json!([]), INVALID),
        ("/spec/versions", json!({}), OF_TYPE),
        ("/spec/versions", json!("v1"), OF_TYPE),
        ("/spec/versions/0", json!(1), OF_TYPE),
        ("/spec/versions/0", json!({}), INVALID),
        ("/spec/versions/0/name", json!(""), INVALID),
        ("/spec/versions/0/name", json!("V1"), INVALID),
        ("/spec/versions/0/name", json!("v 1"), INVALID),
        ("/spec/versions/0/served", json!("yes"), OF_TYPE),
        ("/spec/versions/0/storage", json!(false), INVALID),
        ("/spec/versions/0/schema", json!(null), INVALID),
        ("/spec/versions/0/schema", json!({}), INVALID),
        ("/spec/versions/0/schema", json!([]), OF_TYPE),
        ("/spec/versions/0/subresources", json!("status"), OF_TYPE),
        ("/spec/versions/0/additionalPrinterColumns", json!([{}]), INVALID),
        (
            "/spec/versions/0/additionalPrinterColumns",
            json!([{"name": "a", "type": "text", "jsonPath": ".a"}]),
            INVALID,
        ),
        (
            "/spec/versions/0/additionalPrinterColumns",
            json!([{"name": "a", "type": "string", "jsonPath": "{.a"}]),
            INVALID,
        ),
        (
            "/spec/versions/0/additionalPrinterColumns",
            json!([{"name": "a", "type": "string", "jsonPath": ""}]),
            INVALID,
        ),
        ("/spec/versions/0/additionalPrinterColumns", json!("a"), OF_TYPE),
        ("/spec/conversion", json!({"strategy": "Magic"}), INVALID),
        ("/spec/conversion", json!("None"), OF_TYPE),
        ("/spec", json!({}), INVALID),
        ("/spec", json!(null), INVALID),
        ("/spec", json!([]), OF_TYPE),
        ("/kind", json!("Widget"), BAD),
        ("/apiVersion", json!("apiextensions.k8s.io/v9"), BAD),
    ] {
        rows.push(row(expected, |it| *at(it, place) = value));
    }
    rows.push(row(INVALID, |it| {
        let version = it["spec"]["versions"][0].clone();
        it["spec"]["versions"] = json!([version, version]);
    }));
    for (schema, expected) in wrong_schemas() {
        rows.push(row(expected, |it| it["spec"]["versions"][0]["schema"]["openAPIV3Schema"] = schema));
    }
    for (schema, expected) in wrong_properties() {
        rows.push(row(expected, |it| {
            it["spec"]["versions"][0]["schema"]["openAPIV3Schema"]["properties"]["spec"]["properties"] =
                json!({"x": schema});
        }));
    }
    rows
}

/// A field, which may not be there yet.
fn at<'a>(definition: &'a mut Value, place: &str) -> &'a mut Value {
    let (above, field) = place.rsplit_once('/').unwrap();
    let above = definition.pointer_mut(above).unwrap();
    if above.is_array() { &mut above[0] } else { &mut above[field] }
}

fn wrong_schemas() -> Vec<(Value, ExpectedAnswer)> {
    vec![
        (json!({}), INVALID),
        (json!({"type": "string"}), INVALID),
        (json!({"type": "array"}), INVALID),
        (json!({"type": ["object"]}), OF_TYPE),
        (json!(true), OF_TYPE),
        (json!([]), OF_TYPE),
        (json!("object"), OF_TYPE),
        (json!({"type": "object", "properties": []}), OF_TYPE),
        (json!({"type": "object", "properties": {"spec": 1}}), OF_TYPE),
        (json!({"type": "object", "properties": {"spec": {}}}), INVALID),
        (json!({"type": "object", "additionalProperties": false}), INVALID),
        (json!({"type": "object", "properties": {"metadata": {"type": "string"}}}), INVALID),
        (json!({"type": "object", "nullable": true}), INVALID),
        (json!({"type": "object", "x-kubernetes-preserve-unknown-fields": false}), INVALID),
    ]
}

fn wrong_properties() -> Vec<(Value, ExpectedAnswer)> {
    let mut rows = vec![
        (json!({"type": "text"}), INVALID),
        (json!({"type": ""}), INVALID),
        (json!({"type": "array"}), INVALID),
        (json!({"type": "array", "items": [{"type": "string"}]}), INVALID),
        (json!({"type": "array", "items": {}}), INVALID),
        (json!({"type": "array", "items": {"type": "string"}, "uniqueItems": true}), INVALID),
        (json!({"type": "string", "$ref": "#/a"}), INVALID),
        (json!({"type": "string", "deprecated": 1, "default": 1}), INVALID),
        (json!({"type": "string", "default": 1}), INVALID),
        (json!({"type": "integer", "default": 0, "minimum": 1}), INVALID),
        (json!({"type": "string", "enum": ["a"], "default": "b"}), INVALID),
        (json!({"type": "string", "pattern": "("}), INVALID),
        (json!({"type": "string", "pattern": "[a"}), INVALID),
        (json!({"type": "string", "pattern": "a{2,1}"}), INVALID),
        (json!({"type": "string", "pattern": "(?=a)"}), INVALID),
        (json!({"type": "string", "pattern": "(a)\\1"}), INVALID),
        (json!({"type": "string", "pattern": "(?<!a)b"}), INVALID),
        (json!({"type": "string", "pattern": "*"}), INVALID),
        (json!({"type": "string", "pattern": "a**"}), INVALID),
        (json!({"type": "string", "pattern": "a{100000}"}), INVALID),
        (json!({"type": "string", "pattern": "((a{100}){100}){100}"}), INVALID),
        (json!({"type": "string", "pattern": "\\p{Nothing}"}), INVALID),
        (json!({"type": "string", "pattern": 1}), OF_TYPE),
        (json!({"type": "string", "minLength": "1"}), OF_TYPE),
        (json!({"type": "string", "maximum": "a"}), OF_TYPE),
        (
            json!({"type": "object", "properties": {"a": {"type": "string"}}, "additionalProperties": {"type": "string"}}),
            INVALID,
        ),
        (json!({"type": "string", "x-kubernetes-embedded-resource": true}), INVALID),
        (json!({"type": "string", "x-kubernetes-list-type": "set"}), INVALID),
        (json!({"type": "array", "items": {"type": "string"}, "x-kubernetes-list-type": "heap"}), INVALID),
        (json!({"type": "array", "items": {"type": "string"}, "x-kubernetes-list-type": "map"}), INVALID),
        (json!({"type": "array", "items": {"type": "string"}, "x-kubernetes-list-map-keys": ["a"]}), INVALID),
        (json!({"type": "object", "x-kubernetes-map-type": "round"}), INVALID),
        (json!({"type": "string", "anyOf": [{"type": "string"}]}), INVALID),
        (json!({"type": "string", "not": {"default": "a"}}), INVALID),
        (json!({"type": "string", "allOf": {}}), OF_TYPE),
        (json!({"type": "string", "enum": "a"}), OF_TYPE),
        (json!({"type": "object", "required": "a"}), OF_TYPE),
    ];
    let mut deep = json!({"type": "string"});
    for _ in 0..200 {
        deep = json!({"type": "array", "items": deep});
    }
    rows.push((deep, BAD));
    rows
}
