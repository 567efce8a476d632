use super::*;

fn check(schema: Value, expected: &[&str]) {
    let errors = Schema::parse(&schema, "s").err().unwrap_or_default();
    assert_eq!(texts(&errors), expected);
}

/// The same for the schema of a field.
fn check_field(field: Value, expected: &[&str]) {
    check(json!({ "type": "object", "properties": { "x": field } }), expected);
}

#[test]
fn each_value_needs_a_type() {
    check(json!({}), &["s.type: Required value: must not be empty at the root"]);
    check(
        json!({ "type": "array", "items": { "type": "string" } }),
        &["s.type: Invalid value: \"array\": must be object at the root"],
    );
    check_field(
        json!({}),
        &["s.properties[x].type: Required value: must not be empty for specified object fields"],
    );
    check_field(json!({ "type": "array" }), &["s.properties[x].items: Required value: must be specified"]);
    check_field(
        json!({ "type": "array", "items": {} }),
        &["s.properties[x].items.type: Required value: must not be empty for specified array items"],
    );
    check_field(json!({ "x-kubernetes-int-or-string": true }), &[]);
    check_field(json!({ "x-kubernetes-preserve-unknown-fields": true }), &[]);
    check(
        json!({ "type": "object", "additionalProperties": true }),
        &["s.additionalProperties: Forbidden: must not be used at the root"],
    );
    check(
        json!({ "type": "object", "nullable": true }),
        &["s.nullable: Forbidden: nullable cannot be true at the root"],
    );
}

#[test]
fn types_are_known() {
    check_field(
        json!({ "type": "text" }),
        &[
            "s.properties[x].type: Unsupported value: \"text\": supported values: \"array\", \"boolean\", \"integer\", \"number\", \"object\", \"string\"",
        ],
    );
    check_field(json!({ "type": 5 }), &["s.properties[x].type: Invalid value: 5: must be a string"]);
    check(json!([]), &["s: Invalid value: []: must be a schema"]);
}

#[test]
fn junctors_hold_no_structure() {
    check_field(
        json!({ "type": "object", "anyOf": [{ "type": "object", "description": "d", "properties": { "metadata": {} } }] }),
        &[
            "s.properties[x].anyOf[0].description: Forbidden: must be empty to be structural",
            "s.properties[x].anyOf[0].properties[metadata]: Forbidden: must not be specified in a nested context",
            "s.properties[x].anyOf[0].type: Forbidden: must be empty to be structural",
        ],
    );
    check(
        json!({ "type": "object", "not": { "properties": { "spec": { "minimum": 1 } } } }),
        &["s.properties[spec]: Required value: because it is defined in s.not.properties[spec]"],
    );
}

#[test]
fn an_int_or_string_may_say_so_twice() {
    let both = json!([{ "type": "integer" }, { "type": "string" }]);
    check_field(json!({ "x-kubernetes-int-or-string": true, "anyOf": both }), &[]);
    check_field(
        json!({ "x-kubernetes-int-or-string": true, "allOf": [{ "anyOf": both }, { "minimum": 1 }] }),
        &[],
    );
    check_field(
        json!({ "x-kubernetes-int-or-string": true, "x-kubernetes-preserve-unknown-fields": true }),
        &[
            "s.properties[x].x-kubernetes-preserve-unknown-fields: Invalid value: true: must be false if x-kubernetes-int-or-string is true",
        ],
    );
}

#[test]
fn metadata_is_what_it_is() {
    let with = |metadata: Value| json!({ "type": "object", "properties": { "metadata": metadata } });
    check(with(json!({ "type": "object" })), &[]);
    check(
        with(json!({ "type": "object", "properties": { "name": { "type": "string", "maxLength": 5 } } })),
        &[],
    );
    let names_only = "s.properties[metadata]: Forbidden: must not specify anything other than name and generateName, but metadata is implicitly specified";
    check(with(json!({ "type": "object", "properties": { "labels": { "type": "object" } } })), &[names_only]);
    check(with(json!({ "type": "object", "description": "d" })), &[names_only]);
    check(
        json!({ "type": "object", "properties": { "kind": { "type": "integer" } } }),
        &["s.properties[kind].type: Invalid value: \"integer\": must be string"],
    );
}

#[test]
fn unsupported_keywords_are_refused() {
    for key in ["definitions", "patternProperties"] {
        let said = format!("s.properties[x].{key}: Forbidden: {key} is not supported");
        check_field(json!({ "type": "object", key: { "a": {} } }), &[&said]);
    }
    for (key, value) in [
        ("id", json!("a")),
        ("$ref", json!("#/a")),
        ("dependencies", json!({})),
        ("additionalItems", json!(true)),
    ] {
        let said = format!("s.properties[x].{key}: Forbidden: {key} is not supported");
        check_field(json!({ "type": "object", key: value }), &[&said]);
    }
    check_field(
        json!({ "type": "array", "items": [{ "type": "string" }] }),
        &["s.properties[x].items: Forbidden: items must be a schema object and not an array"],
    );
    check_field(
        json!({ "type": "array", "items": { "type": "string" }, "uniqueItems": true }),
        &[
            "s.properties[x].uniqueItems: Forbidden: uniqueItems cannot be set to true since the runtime complexity becomes quadratic",
        ],
    );
    check_field(
        json!({ "type": "string", "allOf": [{ "x-kubernetes-validations": [{ "rule": "true" }] }] }),
        &["s.properties[x].allOf[0].x-kubernetes-validations: Forbidden: must be empty to be structural"],
    );
    check_field(
        json!({ "type": "object", "x-kubernetes-preserve-unknown-fields": false }),
        &[
            "s.properties[x].x-kubernetes-preserve-unknown-fields: Invalid value: false: must be true or undefined",
        ],
    );
    let errors = Schema::parse(
        &json!({ "type": "object", "properties": { "x": { "type": "string", "pattern": "(" } } }),
        "s",
    );
    let errors = texts(&errors.expect_err("no pattern"));
    assert!(errors[0].starts_with("s.properties[x].pattern: Invalid value: \"(\": must be a valid regular expression, but isn't: error parsing regexp: "), "{errors:?}");
}

#[test]
fn properties_and_additional_ones_exclude_each_other() {
    check_field(
        json!({ "type": "object", "properties": { "a": { "type": "string" } }, "additionalProperties": { "type": "string" } }),
        &[
            "s.properties[x].additionalProperties: Forbidden: additionalProperties and properties are mutual exclusive",
        ],
    );
}

#[test]
fn lists_that_are_maps_have_keys() {
    let list = |more: Value| {
        let mut list = json!({ "type": "array", "x-kubernetes-list-type": "map", "items": { "type": "object", "properties": { "k": { "type": "string" }, "o": { "type": "object" } } } });
        list.as_object_mut().unwrap().extend(more.as_object().unwrap().clone());
        list
    };
    check_field(
        list(json!({})),
        &[
            "s.properties[x].x-kubernetes-list-map-keys: Required value: must not be empty if x-kubernetes-list-type is map",
        ],
    );
    check_field(
        list(json!({ "x-kubernetes-list-map-keys": ["k"] })),
        &[
            "s.properties[x].items.properties[k].default: Required value: this property is in x-kubernetes-list-map-keys, so it must have a default or be a required property",
        ],
    );
    check_field(
        list(json!({ "x-kubernetes-list-map-keys": ["z"] })),
        &[
            "s.properties[x].x-kubernetes-list-map-keys: Invalid value: [\"z\"]: entries must all be names of item properties",
        ],
    );
    check_field(
        json!({ "type": "array", "items": { "type": "string" }, "x-kubernetes-list-map-keys": ["k"] }),
        &[
            "s.properties[x].x-kubernetes-list-type: Required value: must be map if x-kubernetes-list-map-keys is non-empty",
        ],
    );
    check_field(
        json!({ "type": "array", "items": { "type": "string", "nullable": true }, "x-kubernetes-list-type": "set" }),
        &["s.properties[x].items.nullable: Forbidden: cannot be nullable when x-kubernetes-list-type is set"],
    );
    check_field(
        json!({ "type": "array", "items": { "type": "object" }, "x-kubernetes-list-type": "set" }),
        &[
            "s.properties[x].items.x-kubernetes-map-type: Invalid value: null: must be atomic as item of a list with x-kubernetes-list-type=set",
        ],
    );
    check_field(
        json!({ "type": "string", "x-kubernetes-list-type": "set" }),
        &[
            "s.properties[x].type: Invalid value: \"string\": must be array if x-kubernetes-list-type is specified",
        ],
    );
    check_field(
        json!({ "type": "object", "x-kubernetes-map-type": "other" }),
        &[
            "s.properties[x].x-kubernetes-map-type: Unsupported value: \"other\": supported values: \"atomic\", \"granular\"",
        ],
    );
}

#[test]
fn embedded_resources_are_objects_that_are_described() {
    check_field(
        json!({ "type": "object", "x-kubernetes-embedded-resource": true }),
        &[
            "s.properties[x].properties: Required value: must not be empty if x-kubernetes-embedded-resource is true without x-kubernetes-preserve-unknown-fields",
        ],
    );
    check_field(
        json!({ "x-kubernetes-embedded-resource": true, "x-kubernetes-preserve-unknown-fields": true }),
        &["s.properties[x].type: Required value: must be object if x-kubernetes-embedded-resource is true"],
    );
}

#[test]
fn defaults_are_valid_and_pruned() {
    check_field(json!({ "type": "string", "default": "a" }), &[]);
    check_field(
        json!({ "type": "string", "default": 5 }),
        &[
            "s.properties[x].default: Invalid value: \"integer\":  in body must be of type string: \"integer\"",
        ],
    );
    check_field(
        json!({ "type": "object", "default": { "a": 1, "b": 2 }, "properties": { "a": { "type": "string" } } }),
        &[
            "s.properties[x].default: Invalid value: {\"a\":1,\"b\":2}: must not have unknown fields",
            "s.properties[x].default.a: Invalid value: \"integer\": a in body must be of type string: \"integer\"",
        ],
    );
    check(
        json!({ "type": "object", "properties": { "kind": { "type": "string", "default": "a" } } }),
        &["s.properties[kind].default: Forbidden: must not be set in top-level kind"],
    );
    check_field(
        json!({
            "type": "object", "x-kubernetes-embedded-resource": true, "properties": {
                "kind": { "type": "string", "default": "Pod" },
                "apiVersion": { "type": "string", "default": "a/b/c" },
                "metadata": { "type": "object", "properties": { "name": { "type": "string", "default": "a" } } },
            },
        }),
        &[
            "s.properties[x].properties[apiVersion].default: Invalid value: \"a/b/c\": must result in valid metadata: apiVersion: Invalid value: \"a/b/c\": unexpected GroupVersion string: a/b/c",
            "s.properties[x].properties[metadata].properties[name].default: Forbidden: defaults within the metadata of an embedded resource are not supported",
        ],
    );
}

#[test]
fn a_root_with_a_status_has_no_keywords_that_would_be_lost() {
    let errors =
        Schema::check_root_with_status(&json!({ "type": "object", "anyOf": [{}], "nullable": false }), "s");
    assert_eq!(
        texts(&errors),
        ["s.anyOf: Forbidden: is not allowed at the root of the schema if the status subresource is enabled"]
    );
}

#[test]
fn the_written_schema_is_published() {
    let written = json!({
        "type": "object", "description": "A thing.", "properties": {
            "a": { "type": "string", "default": "x", "enum": ["x", "y"], "pattern": "^.$", "format": "colour" },
            "b": { "type": "array", "items": { "type": "integer", "minimum": 1, "maximum": 2.5, "multipleOf": 0.5 }, "x-kubernetes-list-type": "set" },
            "c": { "x-kubernetes-int-or-string": true, "anyOf": [{ "type": "integer" }, { "type": "string" }] },
            "d": { "type": "object", "additionalProperties": { "type": "boolean", "nullable": true }, "not": { "minProperties": 3 } },
            "e": { "type": "object", "x-kubernetes-preserve-unknown-fields": true, "x-kubernetes-map-type": "atomic", "title": "t", "example": { "a": 1 } },
        },
        "required": ["a"], "oneOf": [{ "required": ["b"] }], "allOf": [{ "maxProperties": 9 }],
    });
    let schema = Schema::parse(&written, "s").unwrap();
    assert_eq!(Value::Object(schema.written()), written);
    let mut published = schema.openapi();
    let properties = published["properties"].as_object_mut().unwrap();
    for name in ["apiVersion", "kind", "metadata"] {
        assert!(properties.remove(name).is_some(), "{name}");
    }
    assert_eq!(published, written);
}

#[test]
fn embedded_resources_are_published_with_their_common_fields() {
    let schema = of(
        json!({ "x": { "type": "object", "x-kubernetes-embedded-resource": true, "x-kubernetes-preserve-unknown-fields": true } }),
    );
    let published = &schema.openapi()["properties"]["spec"]["properties"]["x"];
    assert_eq!(published["required"], json!(["kind", "apiVersion"]));
    assert_eq!(published["properties"]["kind"]["type"], "string");
}
