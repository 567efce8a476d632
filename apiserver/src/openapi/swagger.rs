//! OpenAPI v3 documents as one of OpenAPI v2.

use serde_json::{Map, Value, json};

use super::schema::{GVK, PREFIX, SELECTABLE};

/// Merges all documents into one.
pub(super) fn of(documents: Vec<Value>) -> Value {
    let (mut paths, mut definitions) = (Map::new(), Map::new());
    for mut document in documents {
        for (path, entry) in taken(&mut document["paths"]) {
            paths.insert(path, path_entry(entry));
        }
        for (name, mut schema) in taken(&mut document["components"]["schemas"]) {
            if preserves_unknown_fields(&schema) && schema.get(GVK).is_some() {
                open(&mut schema);
            } else {
                simplify(&mut schema);
            }
            definitions.insert(name, schema);
        }
    }
    json!({
        "swagger": "2.0",
        "info": {"title": "Kubernetes", "version": "v1.37.2"},
        "paths": paths,
        "definitions": definitions,
    })
}

fn taken(value: &mut Value) -> Map<String, Value> {
    match value.take() {
        Value::Object(map) => map,
        _ => Map::new(),
    }
}

fn path_entry(mut entry: Value) -> Value {
    let mut converted = Map::new();
    for (key, part) in taken(&mut entry) {
        let part = if key == "parameters" { parameters(part) } else { operation(part) };
        converted.insert(key, part);
    }
    converted.into()
}

/// The type of a parameter is in a schema in v3, and beside the name in v2.
fn parameters(mut list: Value) -> Value {
    for parameter in list.as_array_mut().into_iter().flatten() {
        for (key, value) in taken(&mut parameter["schema"]) {
            parameter[key] = value;
        }
        if let Some(parameter) = parameter.as_object_mut() {
            parameter.remove("schema");
        }
    }
    list
}

fn operation(mut operation: Value) -> Value {
    let mut all = match parameters(operation["parameters"].take()) {
        Value::Array(list) => list,
        _ => Vec::new(),
    };
    let body = operation.as_object_mut().and_then(|operation| operation.remove("requestBody"));
    let (consumes, schema) = split(body.as_ref().map_or(&Value::Null, |body| &body["content"]));
    if let (Some(body), Some(schema)) = (body, schema) {
        let required = body["required"] == true;
        all.push(json!({"name": "body", "in": "body", "required": required, "schema": schema}));
    }
    operation["parameters"] = all.into();
    operation["consumes"] = if consumes.is_empty() { json!(["*/*"]) } else { json!(consumes) };
    let mut produces = Vec::new();
    for response in operation["responses"].as_object_mut().into_iter().flat_map(|map| map.values_mut()) {
        let content = response.as_object_mut().and_then(|response| response.remove("content"));
        let (types, schema) = split(content.as_ref().unwrap_or(&Value::Null));
        if let Some(schema) = schema {
            response["schema"] = schema;
            produces = types;
        }
    }
    operation["produces"] = json!(produces);
    operation["schemes"] = json!(["https"]);
    operation
}

/// The media types, and the schema that they share.
fn split(content: &Value) -> (Vec<String>, Option<Value>) {
    let content = content.as_object();
    let types = content.into_iter().flat_map(|content| content.keys().cloned()).collect();
    let schema = content.and_then(|content| content.values().next()).map(|first| first["schema"].clone());
    (
        types,
        schema.map(|mut schema| {
            simplify(&mut schema);
            schema
        }),
    )
}

fn preserves_unknown_fields(schema: &Value) -> bool {
    schema.get("x-kubernetes-preserve-unknown-fields") == Some(&Value::Bool(true))
}

/// Leaves nothing but the type and the kind. Old clients refuse fields beside declared ones, so a
/// kind that preserves unknown fields declares none.
fn open(schema: &mut Value) {
    if let Some(map) = schema.as_object_mut() {
        map.retain(|key, _| key == GVK || key == SELECTABLE);
        map.insert("type".into(), "object".into());
    }
}

/// Removes keywords that OpenAPI v2 does not have, or that break its readers.
fn simplify(schema: &mut Value) {
    let Some(map) = schema.as_object_mut() else { return };
    if let Some(name) = map.get("$ref").and_then(Value::as_str).and_then(|name| name.strip_prefix(PREFIX)) {
        let target = format!("#/definitions/{name}");
        map.retain(|key, _| key == "description");
        map.insert("$ref".into(), target.into());
        return;
    }
    // A reference with a description is written as a list of one in v3.
    let only = map
        .get("allOf")
        .and_then(Value::as_array)
        .filter(|all| all.len() == 1)
        .and_then(|all| all[0].get("$ref"))
        .cloned();
    if let Some(target) = only {
        map.insert("$ref".into(), target);
        return simplify(schema);
    }
    for key in ["allOf", "anyOf", "oneOf", "not"] {
        map.remove(key);
    }
    let is_open = map.get("x-kubernetes-preserve-unknown-fields") == Some(&Value::Bool(true));
    if map.remove("nullable") == Some(Value::Bool(true)) || is_open {
        for key in ["items", "properties", "required", "type"] {
            map.remove(key);
        }
    }
    let untyped = map.get("type").is_some_and(|kind| kind == "array") && !map.contains_key("items");
    if untyped {
        map.remove("type");
    }
    forget_nullable(map);
    for key in ["items", "additionalProperties"] {
        if let Some(below) = map.get_mut(key) {
            simplify(below);
        }
    }
    for property in
        map.get_mut("properties").and_then(Value::as_object_mut).into_iter().flat_map(|map| map.values_mut())
    {
        simplify(property);
    }
}

/// A nullable field cannot be required by readers that know no null.
fn forget_nullable(map: &mut Map<String, Value>) {
    let nullable = |schema: &Value| schema.get("nullable") == Some(&Value::Bool(true));
    let Some(mut required) = map.remove("required") else { return };
    if map.get("additionalProperties").is_some_and(nullable) {
        return;
    }
    if let Some(required) = required.as_array_mut() {
        required.retain(|key| {
            let property = key.as_str().and_then(|key| map.get("properties")?.get(key));
            !property.is_some_and(nullable)
        });
    }
    if required.as_array().is_some_and(|required| !required.is_empty()) {
        map.insert("required".into(), required);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The definition of such a kind had no type, and `kubectl explain` no fields of objects.
    #[test]
    fn a_kind_that_preserves_unknown_fields_is_an_object_without_properties() {
        let kind = json!([{"group": "example.com", "version": "v1", "kind": "Foo"}]);
        let open = json!({
            "type": "object", "x-kubernetes-preserve-unknown-fields": true, "x-kubernetes-group-version-kind": kind,
            "properties": {"kind": {"type": "string"}},
        });
        let embedded = json!({"type": "object", "x-kubernetes-preserve-unknown-fields": true});
        let schemas = json!({"Foo": open, "Raw": embedded});
        let swagger = of(vec![json!({"components": {"schemas": schemas}})]);
        let expected = json!({"type": "object", "x-kubernetes-group-version-kind": kind});
        assert_eq!(swagger["definitions"]["Foo"], expected);
        assert_eq!(swagger["definitions"]["Raw"], json!({"x-kubernetes-preserve-unknown-fields": true}));
    }
}
