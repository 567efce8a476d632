use super::*;

/// Expects these unknown fields of a spec, and this spec after pruning.
fn check_pruned(schema: &Schema, spec: Value, unknown: &[&str], left: Value) {
    let mut object = object(spec);
    assert_eq!(schema.unknown(&object), unknown);
    schema.prune(&mut object);
    assert_eq!(object, super::object(left));
    assert!(schema.unknown(&object).is_empty());
}

fn check_defaulted(properties: Value, spec: Value, expected: Value) {
    let schema = of(properties);
    let mut object = object(spec);
    schema.default(&mut object);
    assert_eq!(object["spec"], expected);
    schema.default(&mut object);
    assert_eq!(object["spec"], expected);
}

#[test]
fn unknown_fields_are_reported_and_pruned() {
    let schema = of(json!({
        "a": { "type": "string" },
        "list": { "type": "array", "items": { "type": "object", "properties": { "b": { "type": "string" } } } },
        "map": { "type": "object", "additionalProperties": { "type": "object", "properties": { "c": { "type": "string" } } } },
    }));
    check_pruned(
        &schema,
        json!({ "a": "x", "x": 1, "list": [{ "b": "x" }, { "y": { "z": 1 } }, 5], "map": { "k": { "c": 1, "d": 2 } } }),
        &["spec.list[1].y", "spec.map.k.d", "spec.x"],
        json!({ "a": "x", "list": [{ "b": "x" }, {}, 5], "map": { "k": { "c": 1 } } }),
    );
}

#[test]
fn the_root_keeps_the_fields_of_every_object() {
    let schema = of(json!({}));
    let mut object = json!({ "apiVersion": "v1", "kind": "A", "metadata": { "x": 1 }, "data": 1, "spec": { "metadata": 1 } });
    assert_eq!(schema.unknown(&object), ["data", "spec.metadata"]);
    schema.prune(&mut object);
    assert_eq!(object, json!({ "apiVersion": "v1", "kind": "A", "metadata": { "x": 1 }, "spec": {} }));
}

#[test]
fn preserved_fields_are_kept_and_declared_ones_pruned_inside() {
    let schema = of(json!({
        "free": {
            "type": "object", "x-kubernetes-preserve-unknown-fields": true,
            "properties": { "known": { "type": "object", "properties": { "a": { "type": "string" } } } },
        },
        "list": { "type": "array", "x-kubernetes-preserve-unknown-fields": true, "items": { "type": "object", "properties": { "a": { "type": "object" } } } },
        "any": { "type": "object", "additionalProperties": true },
    }));
    check_pruned(
        &schema,
        json!({ "free": { "x": { "y": 1 }, "known": { "b": 1 } }, "list": [{ "b": 1, "a": { "c": 1 } }], "any": { "a": 1, "b": { "c": 1 } } }),
        &["spec.any.b.c", "spec.free.known.b", "spec.list[0].a.c"],
        json!({ "free": { "x": { "y": 1 }, "known": {} }, "list": [{ "b": 1, "a": {} }], "any": { "a": 1, "b": {} } }),
    );
}

#[test]
fn embedded_resources_keep_the_fields_of_every_object() {
    let schema = of(json!({
        "template": { "type": "object", "x-kubernetes-embedded-resource": true, "properties": { "spec": { "type": "object" } } },
    }));
    let spec =
        json!({ "template": { "apiVersion": "v1", "kind": "Pod", "metadata": { "name": "a" }, "x": 1 } });
    let left = json!({ "template": { "apiVersion": "v1", "kind": "Pod", "metadata": { "name": "a" } } });
    check_pruned(&schema, spec, &["spec.template.x"], left.clone());
    let mut object = object(left);
    let mut found = Vec::new();
    schema.embedded_metadata(&object, &mut |at, metadata| found.push((at.to_owned(), metadata.clone())));
    assert_eq!(found, [("spec.template.metadata".to_owned(), json!({ "name": "a" }))]);
    schema.change_embedded_metadata(&mut object, &mut |at, metadata| {
        assert_eq!(at, "spec.template.metadata");
        *metadata = json!({});
    });
    assert_eq!(object["spec"]["template"]["metadata"], json!({}));
}

#[test]
fn defaults_are_applied_within_defaults() {
    check_defaulted(json!({ "a": { "type": "string", "default": "x" } }), json!({}), json!({ "a": "x" }));
    check_defaulted(
        json!({ "a": { "type": "string", "default": "x" } }),
        json!({ "a": "y" }),
        json!({ "a": "y" }),
    );
    check_defaulted(
        json!({ "a": { "type": "object", "default": {}, "properties": { "b": { "type": "integer", "default": 1 } } } }),
        json!({}),
        json!({ "a": { "b": 1 } }),
    );
    check_defaulted(
        json!({ "a": { "type": "object", "properties": { "b": { "type": "integer", "default": 1 } } } }),
        json!({}),
        json!({}),
    );
    check_defaulted(
        json!({ "l": { "type": "array", "items": { "type": "object", "properties": { "b": { "type": "integer", "default": 1 } } } } }),
        json!({ "l": [{}, { "b": 2 }] }),
        json!({ "l": [{ "b": 1 }, { "b": 2 }] }),
    );
}

#[test]
fn a_null_in_a_non_nullable_field_is_defaulted() {
    check_defaulted(json!({ "a": { "type": "string" } }), json!({ "a": null }), json!({}));
    check_defaulted(
        json!({ "a": { "type": "string", "default": "x" } }),
        json!({ "a": null }),
        json!({ "a": "x" }),
    );
    check_defaulted(
        json!({ "a": { "type": "string", "nullable": true, "default": "x" } }),
        json!({ "a": null }),
        json!({ "a": null }),
    );
    let map = |value: Value| json!({ "m": { "type": "object", "additionalProperties": value } });
    check_defaulted(map(json!({ "type": "string" })), json!({ "m": { "k": null } }), json!({ "m": {} }));
    check_defaulted(
        map(json!({ "type": "string", "default": "x" })),
        json!({ "m": { "k": null } }),
        json!({ "m": { "k": "x" } }),
    );
    let list = |items: Value| json!({ "l": { "type": "array", "items": items } });
    check_defaulted(list(json!({ "type": "string" })), json!({ "l": [null] }), json!({ "l": [null] }));
    check_defaulted(
        list(json!({ "type": "string", "default": "x" })),
        json!({ "l": [null] }),
        json!({ "l": ["x"] }),
    );
}
