use super::*;

fn check(schema: &Schema, old: Value, new: Value, expected: &[&str]) {
    let errors = schema.validate(&object(new), Some(&object(old)));
    assert_eq!(texts(&errors), expected);
}

const WRONG_A: &str = "spec.a: Invalid value: \"string\": spec.a in body must be of type integer: \"string\"";

#[test]
fn unchanged_values_are_tolerated() {
    let schema = of(json!({ "a": { "type": "integer" }, "b": { "type": "integer" } }));
    check(&schema, json!({ "a": "x" }), json!({ "a": "x", "b": 1 }), &[]);
    check(
        &schema,
        json!({ "a": "x" }),
        json!({ "a": "y" }),
        &["spec.a: Invalid value: \"string\": spec.a in body must be of type integer: \"string\""],
    );
    check(&schema, json!({}), json!({ "a": "x" }), &[WRONG_A]);
    let schema = of_spec(
        json!({ "type": "object", "required": ["a"], "properties": { "a": { "type": "string" }, "b": { "type": "string" } } }),
    );
    check(&schema, json!({}), json!({}), &[]);
    check(&schema, json!({}), json!({ "b": "" }), &["spec.a: Required value"]);
}

#[test]
fn items_are_correlated_by_their_keys() {
    let item = json!({ "type": "object", "required": ["k"], "properties": { "k": { "type": "string" }, "v": { "type": "integer" } } });
    let map = of(
        json!({ "l": { "type": "array", "x-kubernetes-list-type": "map", "x-kubernetes-list-map-keys": ["k"], "maxItems": 2, "items": item } }),
    );
    let wrong = json!({ "k": "a", "v": "x" });
    let (right, more) = (json!({ "k": "b" }), json!({ "k": "c" }));
    check(&map, json!({ "l": [wrong, right] }), json!({ "l": [more, wrong] }), &[]);
    check(&map, json!({ "l": [wrong, right, more] }), json!({ "l": [more, wrong, right] }), &[]);
    let plain = of(json!({ "l": { "type": "array", "items": item } }));
    check(
        &plain,
        json!({ "l": [wrong, right] }),
        json!({ "l": [wrong, more] }),
        &["spec.l[0].v: Invalid value: \"string\": spec.l[0].v in body must be of type integer: \"string\""],
    );
    check(&plain, json!({ "l": [wrong] }), json!({ "l": [wrong] }), &[]);
}

#[test]
fn branches_are_tolerated_as_a_whole_only() {
    let schema = of(json!({ "a": {
        "type": "object", "properties": { "b": { "type": "string" }, "c": { "type": "string" } },
        "anyOf": [{ "properties": { "b": { "pattern": "^x$" } } }],
    } }));
    check(&schema, json!({ "a": { "b": "y" } }), json!({ "a": { "b": "y" } }), &[]);
    check(
        &schema,
        json!({ "a": { "b": "y" } }),
        json!({ "a": { "b": "y", "c": "" } }),
        &[
            "<nil>: Invalid value: \"\": \"spec.a\" must validate at least one schema (anyOf)",
            "spec.a.b: Invalid value: \"y\": spec.a.b in body should match '^x$'",
        ],
    );
}

#[test]
fn lists_that_were_out_of_order_may_stay_so() {
    let schema = of(
        json!({ "s": { "type": "array", "x-kubernetes-list-type": "set", "items": { "type": "string" } } }),
    );
    check(&schema, json!({ "s": ["a", "a"] }), json!({ "s": ["b", "b"] }), &[]);
    check(&schema, json!({ "s": ["a"] }), json!({ "s": ["b", "b"] }), &["spec.s[1]: Duplicate value: \"b\""]);
}

#[test]
fn a_status_is_validated_by_itself() {
    let json = json!({ "type": "object", "required": ["spec"], "properties": {
        "spec": { "type": "object" },
        "status": { "type": "object", "required": ["phase"], "properties": { "phase": { "type": "string" }, "n": { "type": "integer" } } },
    } });
    let schema = Schema::parse(&json, AT).unwrap();
    let with = |status: Value| json!({ "status": status });
    let errors = schema.validate_status(&with(json!({ "n": "x" })), &with(json!({})));
    assert_eq!(
        texts(&errors),
        [
            "status.n: Invalid value: \"string\": n in body must be of type integer: \"string\"",
            "status.phase: Required value",
        ]
    );
    assert!(schema.validate_status(&with(json!({ "n": "x" })), &with(json!({ "n": "x" }))).is_empty());
    assert!(schema.validate_status(&json!({}), &json!({})).is_empty());
}

/// Regression test: a write that changed nothing passed a schema that forbids its version. The root
/// has fields without a schema, and types are the same in both, whatever was written.
#[test]
fn the_root_and_its_type_are_always_judged() {
    let schema = |extra: Value| {
        let mut schema = json!({ "type": "object", "properties": { "spec": { "type": "object" } } });
        for (field, value) in extra.as_object().unwrap() {
            schema[field] = value.clone();
        }
        Schema::parse(&schema, AT).expect("a schema")
    };
    for (field, value) in [("apiVersion", json!({ "maxLength": 1 })), ("kind", json!({ "enum": ["Other"] }))]
    {
        let mut typed = value;
        typed["type"] = "string".into();
        let schema = schema(json!({ "properties": { field: typed } }));
        let errors = schema.validate(&object(json!({})), Some(&object(json!({}))));
        assert_eq!(errors.iter().map(|error| error.cause().field).collect::<Vec<_>>(), [field]);
    }
    let root = schema(json!({ "not": { "required": ["apiVersion"] } }));
    assert_eq!(root.validate(&object(json!({})), Some(&object(json!({})))).len(), 1);
    let rule = schema(json!({ "x-kubernetes-validations": [{ "rule": "!has(self.apiVersion)" }] }));
    let (broken, tolerated) = rule.broken_rules(&object(json!({})), Some(&object(json!({}))), &[]);
    assert_eq!((broken.len(), tolerated.len()), (1, 0));
}
