use super::*;
use serde_json::json;

fn definition(schema: &Value) -> Value {
    json!({
        "metadata": {"name": "hosts.example.com"},
        "spec": {
            "group": "example.com", "scope": "Namespaced",
            "names": {"kind": "Host", "plural": "hosts", "shortNames": ["h"]},
            "versions": [{
                "name": "v1", "served": true, "storage": true, "selectableFields": [{"jsonPath": ".spec.rack"}],
                "subresources": {"status": {}}, "schema": {"openAPIV3Schema": schema},
            }],
        },
    })
}

fn with(pointer: &str, value: Value) -> Value {
    let mut definition = definition(&json!({"type": "object"}));
    *definition.pointer_mut(pointer).unwrap() = value;
    definition
}

/// Checks the differences of two schemas of `spec`, from a server's to a program's.
fn check_schema(server: Value, program: Value, expected: &[(&str, bool)]) {
    let of = |spec: Value| definition(&json!({"type": "object", "properties": {"spec": spec}}));
    check(&of(server), &of(program), expected);
}

fn check(server: &Value, program: &Value, expected: &[(&str, bool)]) {
    let found = differences(program, server);
    let texts: Vec<_> = found.iter().map(|one| (one.to_string(), one.is_compatible)).collect();
    assert_eq!(texts.len(), expected.len(), "{texts:?}");
    for ((text, is_compatible), (part, expected)) in texts.iter().zip(expected) {
        assert!(text.contains(part), "{text}: {part}");
        assert_eq!(is_compatible, expected, "{text}");
        assert_eq!(text.ends_with("(incompatible)"), !expected, "{text}");
    }
}

#[test]
fn equal_definitions_have_no_difference() {
    let program = definition(&json!({"type": "object"}));
    let mut server = program.clone();
    server["spec"]["conversion"] = json!({"strategy": "None"});
    server["spec"]["names"]["listKind"] = "HostList".into();
    server["metadata"]["annotations"] = json!({"a": "b"});
    server["status"] = json!({"conditions": []});
    check(&server, &program, &[]);
}

#[test]
fn looser_schemas_are_compatible() {
    let integer = json!({"type": "integer", "minimum": 1, "maximum": 9, "format": "int32"});
    let object = |fields: Value, required: Value| json!({"type": "object", "properties": fields, "required": required});
    check_schema(
        object(json!({"rack": integer}), json!(["rack"])),
        object(json!({"rack": integer, "zone": {"type": "string"}}), json!([])),
        &[
            ("schema.spec.zone: absent on the server, string", true),
            ("schema.spec.required: [\"rack\"]", true),
        ],
    );
    let looser =
        json!({"type": "integer", "minimum": 0, "maximum": 10, "description": "x", "nullable": true});
    check_schema(
        json!({"items": integer}),
        json!({"items": looser}),
        &[
            ("spec[].description", true),
            ("spec[].format", true),
            ("spec[].maximum", true),
            ("spec[].minimum", true),
            ("spec[].nullable", true),
        ],
    );
    check_schema(
        json!({"enum": ["a"], "x-kubernetes-validations": [{"rule": "self != ''"}]}),
        json!({"enum": ["a", "b"], "x-kubernetes-validations": [{"rule": "self == oldSelf"}]}),
        &[
            ("spec.enum", true),
            ("absent on the server, self == oldSelf", true),
            ("self != '' on the server, absent", true),
        ],
    );
}

#[test]
fn stricter_schemas_are_incompatible() {
    check_schema(
        json!({"type": "object", "properties": {"rack": {"type": "string"}, "zone": {"type": "string"}}}),
        json!({"type": "object", "properties": {"rack": {"type": "integer"}}, "required": ["rack"]}),
        &[
            ("schema.spec.rack.type: \"string\" on the server, \"integer\" in this program", false),
            ("schema.spec.zone: string on the server, absent", false),
            ("schema.spec.required", false),
        ],
    );
    check_schema(
        json!({"enum": ["a", "b"], "x-kubernetes-preserve-unknown-fields": true}),
        json!({"enum": ["a"], "maxLength": 1, "pattern": "a", "x-kubernetes-validations": [{"rule": "true"}]}),
        &[
            ("spec.enum", false),
            ("spec.maxLength", false),
            ("spec.pattern", false),
            ("preserve-unknown-fields", false),
            ("absent on the server, true", false),
        ],
    );
    check_schema(json!({"nullable": true}), json!({}), &[("spec.nullable", false)]);
    check_schema(json!({}), json!({"x-kubernetes-list-type": "map"}), &[("list-type", false)]);
}

#[test]
fn names_and_versions_are_compared() {
    let program = definition(&json!({"type": "object"}));
    check(&with("/spec/scope", "Cluster".into()), &program, &[("scope: \"Cluster\" on the server", false)]);
    check(&with("/spec/names/shortNames", json!(["x"])), &program, &[("names.shortNames", true)]);
    let none = json!([]);
    check(&with("/spec/versions/0/selectableFields", none.clone()), &program, &[(".spec.rack", true)]);
    check(&program, &with("/spec/versions/0/selectableFields", none), &[(".spec.rack on the server", false)]);
    check(&with("/spec/versions/0/subresources", json!({})), &program, &[("subresources.status", true)]);
    check(&program, &with("/spec/versions/0/subresources", json!({})), &[("subresources.status", false)]);
    check(
        &with("/spec/versions/0/name", "v0".into()),
        &program,
        &[("versions[v1]: absent", true), ("versions[v0]: served on the server, absent", false)],
    );
}
