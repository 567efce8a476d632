use proptest::prelude::*;

use super::*;

const NAMES: [&str; 6] = ["a", "b", "kind", "metadata", "apiVersion", "spec"];

fn name() -> impl Strategy<Value = String> {
    prop::sample::select(NAMES.as_slice()).prop_map(str::to_owned)
}

fn scalar() -> impl Strategy<Value = Value> {
    prop_oneof![
        Just(Value::Null),
        any::<bool>().prop_map(Value::from),
        any::<i64>().prop_map(Value::from),
        any::<u64>().prop_map(Value::from),
        (-3..3_i64).prop_map(Value::from),
        any::<f64>().prop_map(Value::from),
        "[ab]{0,3}|\\PC{0,8}|2024-01-01|10\\.0\\.0\\.[0-9]/[0-9]|[a-z:/@%.\\[\\]]{0,10}"
            .prop_map(Value::from),
    ]
}

fn value() -> impl Strategy<Value = Value> {
    scalar().prop_recursive(5, 48, 5, |inner| {
        prop_oneof![
            prop::collection::vec(inner.clone(), 0..5).prop_map(Value::from),
            prop::collection::btree_map(name(), inner, 0..5)
                .prop_map(|fields| Value::Object(fields.into_iter().collect())),
        ]
    })
}

fn leaf() -> impl Strategy<Value = Value> {
    prop_oneof![
        (any::<bool>(), prop::option::of("[ab]{0,2}")).prop_map(|(nullable, default)| {
            let mut schema =
                json!({ "type": "string", "maxLength": 3, "pattern": "^[a-z]*$", "nullable": nullable });
            if let Some(default) = default {
                schema["default"] = default.into();
            }
            schema
        }),
        prop::sample::select(vec![
            "date",
            "date-time",
            "uri",
            "email",
            "cidr",
            "hostname",
            "duration",
            "ipv6",
            "uuid4",
            "isbn",
            "creditcard",
            "rgbcolor"
        ])
        .prop_map(|format| json!({ "type": "string", "format": format })),
        Just(
            json!({ "type": "integer", "minimum": -1, "maximum": 2, "multipleOf": 2, "default": 2, "format": "int32" })
        ),
        Just(
            json!({ "type": "number", "multipleOf": 0.3, "exclusiveMinimum": true, "minimum": 0.5, "format": "float" })
        ),
        Just(json!({ "type": "boolean", "enum": [true] })),
        Just(json!({ "x-kubernetes-int-or-string": true, "default": 1 })),
        Just(json!({ "x-kubernetes-preserve-unknown-fields": true, "nullable": true })),
        Just(json!({ "type": "object", "additionalProperties": true })),
        Just(
            json!({ "type": "object", "x-kubernetes-embedded-resource": true, "x-kubernetes-preserve-unknown-fields": true })
        ),
        Just(
            json!({ "type": "array", "x-kubernetes-list-type": "set", "items": { "type": "string" }, "maxItems": 2 })
        ),
        Just(json!({
            "type": "array", "x-kubernetes-list-type": "map", "x-kubernetes-list-map-keys": ["a", "b"],
            "items": { "type": "object", "required": ["a"], "properties": { "a": { "type": "string" }, "b": { "type": "integer", "default": 1 } } },
        })),
    ]
}

/// Schemas of a field. Not all of them parse, but most do.
fn field() -> impl Strategy<Value = Value> {
    leaf().prop_recursive(4, 32, 4, |inner| {
        prop_oneof![
            (prop::collection::btree_map(name(), inner.clone(), 0..4), any::<bool>(), any::<bool>()).prop_map(
                |(properties, default, preserve)| {
                    let required: Vec<_> = properties.keys().take(1).cloned().collect();
                    let mut schema = json!({
                        "type": "object", "properties": properties, "maxProperties": 4,
                        "anyOf": [{ "required": required }, { "minProperties": 1 }], "not": { "required": ["b"] },
                    });
                    if default {
                        schema["anyOf"] = json!([]);
                        schema["default"] = json!({});
                    }
                    if preserve {
                        schema["x-kubernetes-preserve-unknown-fields"] = true.into();
                    }
                    schema
                }
            ),
            inner.clone().prop_map(|items| json!({ "type": "array", "items": items, "minItems": 1 })),
            inner.prop_map(|each| json!({ "type": "object", "additionalProperties": each })),
        ]
    })
}

fn schema() -> impl Strategy<Value = Schema> {
    prop::collection::btree_map(name(), field(), 0..5).prop_filter_map("a schema", |mut properties| {
        for name in ["kind", "apiVersion", "metadata"] {
            properties.remove(name);
        }
        Schema::parse(&json!({ "type": "object", "properties": properties }), "s").ok()
    })
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 500, ..ProptestConfig::default() })]

    #[test]
    fn pruned_objects_have_no_unknown_fields(schema in schema(), mut value in value()) {
        let unknown = schema.unknown(&value);
        let before = value.clone();
        schema.prune(&mut value);
        prop_assert!(schema.unknown(&value).is_empty());
        prop_assert_eq!(unknown.is_empty(), before == value);
    }

    #[test]
    fn defaulting_is_idempotent(schema in schema(), mut value in value()) {
        schema.default(&mut value);
        let once = value.clone();
        schema.default(&mut value);
        prop_assert_eq!(once, value);
    }

    #[test]
    fn stored_objects_are_read_unchanged(schema in schema(), mut value in value()) {
        schema.prune(&mut value);
        schema.default(&mut value);
        let once = value.clone();
        schema.prune(&mut value);
        prop_assert_eq!(&once, &value);
        schema.default(&mut value);
        prop_assert_eq!(once, value);
    }

    #[test]
    fn anything_is_validated(schema in schema(), value in value(), old in value()) {
        let errors = schema.validate(&value, None);
        prop_assert!(schema.validate(&value, Some(&value)).len() <= errors.len());
        schema.validate(&value, Some(&old));
        schema.validate_status(&value, &old);
        texts(&errors);
    }

    #[test]
    fn anything_is_parsed(value in value()) {
        let _ = Schema::parse(&value, "s");
        let _ = Schema::parse(&json!({ "type": "object", "properties": { "a": value } }), "s");
    }

    #[test]
    fn published_schemas_can_be_parsed(schema in schema()) {
        let written = Value::Object(schema.written());
        let again = Schema::parse(&written, "s");
        prop_assert!(again.is_ok(), "{:?}", again.map(drop).map_err(|errors| texts(&errors)));
        prop_assert_eq!(Value::Object(again.unwrap().written()), written);
    }
}
