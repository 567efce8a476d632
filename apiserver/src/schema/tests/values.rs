use super::*;
use crate::invalid::Problem;

/// Expects these errors from a spec of these properties.
fn check(properties: Value, spec: Value, expected: &[&str]) {
    let errors = of(properties).validate(&object(spec), None);
    assert_eq!(texts(&errors), expected);
}

#[test]
fn types() {
    let a = |kind: &str| json!({ "a": { "type": kind } });
    check(
        a("integer"),
        json!({ "a": "x" }),
        &["spec.a: Invalid value: \"string\": spec.a in body must be of type integer: \"string\""],
    );
    check(a("integer"), json!({ "a": 1.0 }), &[]);
    check(
        a("integer"),
        json!({ "a": 1.5 }),
        &[
            "spec.a: Invalid value: \"number\": spec.a in body must be of type integer: \"number\"",
            "<nil>: Invalid value: \"\": Checked value must be of type integer (default format) in spec.a",
        ],
    );
    check(a("number"), json!({ "a": 1 }), &[]);
    check(
        a("string"),
        json!({ "a": {} }),
        &["spec.a: Invalid value: \"object\": spec.a in body must be of type string: \"object\""],
    );
    check(
        a("boolean"),
        json!({ "a": [] }),
        &["spec.a: Invalid value: \"array\": spec.a in body must be of type boolean: \"array\""],
    );
    check(
        a("string"),
        json!({ "a": null }),
        &["spec.a: Invalid value: \"null\": spec.a in body must be of type string: \"null\""],
    );
    check(json!({ "a": { "type": "string", "nullable": true } }), json!({ "a": null }), &[]);
    let either = json!({ "a": { "x-kubernetes-int-or-string": true } });
    check(either.clone(), json!({ "a": "x" }), &[]);
    check(either.clone(), json!({ "a": 1 }), &[]);
    check(
        either,
        json!({ "a": true }),
        &["spec.a: Invalid value: \"boolean\": spec.a in body must be of type integer,string: \"boolean\""],
    );
    let errors = of(a("integer")).validate(&object(json!({ "a": "x" })), None);
    assert_eq!(errors[0].problem, Problem::TypeInvalid("string".into()));
    assert_eq!(
        texts(&of(json!({})).validate(&json!([]), None)),
        ["<nil>: Invalid value: \"array\":  in body must be of type object: \"array\""]
    );
}

#[test]
fn texts_have_lengths_and_patterns() {
    let a = json!({ "a": { "type": "string", "minLength": 2, "maxLength": 3, "pattern": "^[a-z]+$" } });
    check(a.clone(), json!({ "a": "ab" }), &[]);
    check(
        a.clone(),
        json!({ "a": "a" }),
        &["spec.a: Invalid value: \"a\": spec.a in body should be at least 2 chars long"],
    );
    check(a.clone(), json!({ "a": "äöüß" }), &["spec.a: Too long: may not be more than 3 bytes"]);
    check(
        a,
        json!({ "a": "A\"" }),
        &["spec.a: Invalid value: \"A\\\"\": spec.a in body should match '^[a-z]+$'"],
    );
}

#[test]
fn format_errors_have_the_value() {
    let a = json!({ "a": { "type": "string", "format": "date-time" } });
    check(a.clone(), json!({ "a": "2024-01-01T00:00:00Z" }), &[]);
    check(
        a.clone(),
        json!({ "a": "x" }),
        &["spec.a: Invalid value: \"x\": spec.a in body must be of type date-time: \"x\""],
    );
    check(
        a.clone(),
        json!({ "a": 5 }),
        &["spec.a: Invalid value: \"int64\": spec.a in body must be of type date-time: \"int64\""],
    );
    check(
        a.clone(),
        json!({ "a": true }),
        &["spec.a: Invalid value: \"\": spec.a in body must be of type date-time: \"\""],
    );
    check(
        a,
        json!({ "a": [] }),
        &["spec.a: Invalid value: \"array\": spec.a in body must be of type string: \"array\""],
    );
    check(json!({ "a": { "type": "string", "format": "colour" } }), json!({ "a": "x" }), &[]);
    let int32 = json!({ "a": { "type": "integer", "format": "int32" } });
    check(
        int32.clone(),
        json!({ "a": 4_294_967_296_i64 }),
        &["<nil>: Invalid value: \"\": Checked value must be of type integer with format int32 in spec.a"],
    );
    check(
        int32,
        json!({ "a": true }),
        &["spec.a: Invalid value: \"\": spec.a in body must be of type int32: \"\""],
    );
}

#[test]
fn numbers_have_bounds() {
    let a = |rules: Value| {
        let mut a = json!({ "type": "number" });
        a.as_object_mut().unwrap().extend(rules.as_object().unwrap().clone());
        json!({ "a": a })
    };
    check(a(json!({ "maximum": 10 })), json!({ "a": 10 }), &[]);
    check(
        a(json!({ "maximum": 10 })),
        json!({ "a": 11 }),
        &["spec.a: Invalid value: 11: spec.a in body should be less than or equal to 10"],
    );
    check(
        a(json!({ "maximum": 10, "exclusiveMaximum": true })),
        json!({ "a": 10 }),
        &["spec.a: Invalid value: 10: spec.a in body should be less than 10"],
    );
    check(
        a(json!({ "minimum": 1 })),
        json!({ "a": 0.5 }),
        &["spec.a: Invalid value: 0.5: spec.a in body should be greater than or equal to 1"],
    );
    check(
        a(json!({ "minimum": 1, "exclusiveMinimum": true })),
        json!({ "a": 1 }),
        &["spec.a: Invalid value: 1: spec.a in body should be greater than 1"],
    );
    check(
        a(json!({ "minimum": 0.5 })),
        json!({ "a": 0 }),
        &["spec.a: Invalid value: 0: spec.a in body should be greater than or equal to 0.5"],
    );
    check(
        a(json!({ "multipleOf": 5 })),
        json!({ "a": 7 }),
        &["spec.a: Invalid value: 7: spec.a in body should be a multiple of 5"],
    );
    check(a(json!({ "multipleOf": 0.1 })), json!({ "a": 0.3 }), &[]);
    check(
        a(json!({ "multipleOf": 0.5 })),
        json!({ "a": 0.7 }),
        &["spec.a: Invalid value: 0.7: spec.a in body should be a multiple of 0.5"],
    );
}

#[test]
fn enum_errors_have_the_allowed_values() {
    let a = json!({ "a": { "type": "string", "enum": ["x", "y\"z"] } });
    check(a.clone(), json!({ "a": "x" }), &[]);
    check(a, json!({ "a": "z" }), &["spec.a: Unsupported value: \"z\": supported values: \"x\", \"y\\\"z\""]);
    let a = json!({ "a": { "type": "number", "enum": [1, 2.5] } });
    check(a.clone(), json!({ "a": 1.0 }), &[]);
    check(a, json!({ "a": 3 }), &["spec.a: Unsupported value: 3: supported values: \"1\", \"2.5\""]);
}

#[test]
fn lists_and_objects_have_sizes() {
    let list =
        json!({ "l": { "type": "array", "minItems": 1, "maxItems": 2, "items": { "type": "integer" } } });
    check(
        list.clone(),
        json!({ "l": [] }),
        &["spec.l: Invalid value: 0: spec.l in body should have at least 1 items"],
    );
    check(list.clone(), json!({ "l": [1, 2, 3] }), &["spec.l: Too many: 3: must have at most 2 items"]);
    check(
        list,
        json!({ "l": [1, "x"] }),
        &["spec.l[1]: Invalid value: \"string\": spec.l[1] in body must be of type integer: \"string\""],
    );
    let map = json!({ "m": { "type": "object", "minProperties": 1, "maxProperties": 1, "additionalProperties": { "type": "string" } } });
    check(
        map.clone(),
        json!({ "m": {} }),
        &["spec.m: Invalid value: 0: spec.m in body should have at least 1 properties"],
    );
    check(
        map.clone(),
        json!({ "m": { "a": "", "b": "" } }),
        &["spec.m: Too many: 2: must have at most 1 item"],
    );
    check(
        map,
        json!({ "m": { "a": 1 } }),
        &["spec.m.a: Invalid value: \"integer\": spec.m.a in body must be of type string: \"integer\""],
    );
    check(
        json!({ "m": { "type": "object", "additionalProperties": false } }),
        json!({ "m": { "a": 1 } }),
        &["spec.m: Invalid value: \"a\": spec.m.a in body is a forbidden property"],
    );
}

#[test]
fn required_fields() {
    let schema = of_spec(json!({
        "type": "object", "required": ["a"],
        "properties": { "a": { "type": "string" }, "l": { "type": "array", "items": { "type": "object", "required": ["b"], "properties": { "b": { "type": "string" } } } } },
    }));
    let errors = schema.validate(&object(json!({ "l": [{}] })), None);
    assert_eq!(texts(&errors), ["spec.l[0].b: Required value", "spec.a: Required value"]);
    let schema = Schema::parse(
        &json!({ "type": "object", "required": ["spec"], "properties": { "spec": { "type": "object" } } }),
        "s",
    );
    assert_eq!(texts(&schema.unwrap().validate(&json!({}), None)), ["spec: Required value"]);
}

#[test]
fn junctors_report_the_deepest_failing_branch() {
    let a = |rules: Value| {
        let mut a = json!({ "type": "object", "properties": { "b": { "type": "string" }, "c": { "type": "string" } } });
        a.as_object_mut().unwrap().extend(rules.as_object().unwrap().clone());
        json!({ "a": a })
    };
    let two = json!([{ "required": ["b"] }, { "required": ["c"] }]);
    check(a(json!({ "anyOf": two })), json!({ "a": { "c": "" } }), &[]);
    check(
        a(json!({ "anyOf": two })),
        json!({ "a": {} }),
        &[
            "<nil>: Invalid value: \"\": \"spec.a\" must validate at least one schema (anyOf)",
            "spec.a.b: Required value",
        ],
    );
    check(
        a(json!({ "oneOf": two })),
        json!({ "a": {} }),
        &[
            "<nil>: Invalid value: \"\": \"spec.a\" must validate one and only one schema (oneOf). Found none valid",
            "spec.a.b: Required value",
        ],
    );
    check(
        a(json!({ "oneOf": two })),
        json!({ "a": { "b": "", "c": "" } }),
        &[
            "<nil>: Invalid value: \"\": \"spec.a\" must validate one and only one schema (oneOf). Found 2 valid alternatives",
        ],
    );
    check(
        a(json!({ "allOf": two })),
        json!({ "a": { "b": "" } }),
        &[
            "spec.a.c: Required value",
            "<nil>: Invalid value: \"\": \"spec.a\" must validate all the schemas (allOf)",
        ],
    );
    check(
        a(json!({ "allOf": [{ "required": ["b"] }] })),
        json!({ "a": {} }),
        &[
            "spec.a.b: Required value",
            "<nil>: Invalid value: \"\": \"spec.a\" must validate all the schemas (allOf). None validated",
        ],
    );
    check(
        a(json!({ "not": { "required": ["b"] } })),
        json!({ "a": { "b": "" } }),
        &["<nil>: Invalid value: \"\": \"spec.a\" must not validate the schema (not)"],
    );
}

#[test]
fn sets_and_maps_have_each_once() {
    let set =
        json!({ "s": { "type": "array", "x-kubernetes-list-type": "set", "items": { "type": "string" } } });
    check(set, json!({ "s": ["a", "b", "a", "a"] }), &["spec.s[2]: Duplicate value: \"a\""]);
    let map = json!({ "tags": {
        "type": "array", "x-kubernetes-list-type": "map", "x-kubernetes-list-map-keys": ["k"],
        "items": { "type": "object", "required": ["k"], "properties": { "k": { "type": "string" }, "v": { "type": "string" } } },
    } });
    check(
        map,
        json!({ "tags": [{ "k": "a" }, { "k": "b" }, { "k": "a", "v": "x" }] }),
        &["spec.tags[2]: Duplicate value: {\"k\":\"a\"}"],
    );
}

#[test]
fn embedded_resources_need_type_metadata() {
    let template = json!({ "t": { "type": "object", "x-kubernetes-embedded-resource": true, "x-kubernetes-preserve-unknown-fields": true } });
    check(
        template.clone(),
        json!({ "t": { "apiVersion": "v1", "kind": "Pod", "metadata": { "name": "A:b" } } }),
        &[],
    );
    check(
        template.clone(),
        json!({ "t": {} }),
        &["spec.t.apiVersion: Required value", "spec.t.kind: Required value"],
    );
    check(
        template,
        json!({ "t": { "apiVersion": "", "kind": "a b", "metadata": { "name": "a/b" } } }),
        &[
            "spec.t.apiVersion: Invalid value: \"\": must not be empty",
            "spec.t.kind: Invalid value: \"a b\": may have mixed case, but should otherwise match: a DNS-1035 label must consist of lower case alphanumeric characters or '-', start with an alphabetic character, and end with an alphanumeric character (e.g. 'my-name',  or 'abc-123', regex used for validation is '[a-z]([-a-z0-9]*[a-z0-9])?')",
            "spec.t.metadata.name: Invalid value: \"a/b\": may not contain '/'",
        ],
    );
}

#[test]
fn the_number_of_errors_is_limited() {
    let list = json!({ "l": { "type": "array", "items": { "type": "integer" } } });
    let errors = of(list).validate(&object(json!({ "l": vec!["x"; 100_000] })), None);
    assert_eq!(errors.len(), 1000);
}
