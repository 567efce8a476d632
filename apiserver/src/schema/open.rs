//! Open parts of a schema, where field names are not declared. Server-side apply accepts unknown
//! fields there, though they are pruned afterwards.

use serde_json::Value;

use super::node::{Additional, META_FIELDS, Schema};
use super::path::ValuePath;

impl Schema {
    /// Returns the first undeclared field of a Kubernetes object, which cannot be applied. Its
    /// apiVersion, kind and metadata are skipped.
    ///
    /// Fewer than [`Schema::unknown`] returns: an object with neither properties nor
    /// additionalProperties is open, and so are all values below one that preserves unknown fields.
    pub(crate) fn undeclared(&self, object: &Value) -> Option<String> {
        first(self, OpenContext { resource: true, preserve: false }, object, &ValuePath::start(""))
    }
}

/// The context of a value.
#[derive(Clone, Copy)]
struct OpenContext {
    /// Whether the value is an object of Kubernetes.
    resource: bool,
    /// Whether an enclosing value preserves unknown fields.
    preserve: bool,
}

fn first(schema: &Schema, around: OpenContext, value: &Value, at: &ValuePath<'_>) -> Option<String> {
    let resource = around.resource || schema.embedded;
    let preserve = around.preserve || schema.preserve_unknown;
    let below = |schema: &Schema, value: &Value, at: &ValuePath<'_>| {
        first(schema, OpenContext { resource: false, preserve }, value, at)
    };
    match value {
        Value::Object(fields) => fields.iter().find_map(|(name, value)| {
            let at = at.field(name);
            if resource && META_FIELDS.contains(&name.as_str()) {
                return None;
            }
            // An object of Kubernetes has its three fields.
            let is_open = preserve || schema.properties.is_empty() && !resource;
            match (schema.properties.get(name), &schema.additional) {
                (Some(schema), _) => below(schema, value, &at),
                (None, Some(Additional::Of(schema))) => below(schema, value, &at),
                (None, Some(Additional::Any)) => None,
                (None, None) if is_open => None,
                (None, None | Some(Additional::Nothing)) => Some(at.to_string()),
            }
        }),
        Value::Array(items) => {
            let each = schema.items.as_deref()?;
            items.iter().enumerate().find_map(|(i, item)| below(each, item, &at.index(i)))
        }
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn check(object: &Value, expected: Option<&str>) {
        let closed = json!({"type": "object", "properties": {"a": {"type": "string"}}});
        let preserve = "x-kubernetes-preserve-unknown-fields";
        let schema = json!({"type": "object", "properties": {
            "bare": {"type": "object"}, "closed": closed, "list": {"type": "array", "items": closed},
            "any": {"type": "object", "additionalProperties": true}, "none": {"type": "object", "additionalProperties": false},
            "map": {"type": "object", "additionalProperties": closed},
            "kept": {"type": "object", preserve: true, "properties": {"closed": closed}},
            "resource": {"type": "object", "x-kubernetes-embedded-resource": true, "properties": {"closed": closed}},
        }});
        let schema = Schema::parse(&schema, "schema").unwrap();
        assert_eq!(schema.undeclared(object).as_deref(), expected);
    }

    #[test]
    fn fields_in_open_parts_can_be_applied() {
        check(&json!({"bare": {"x": {"y": [{"z": 1}]}}, "any": {"x": {"y": 1}}}), None);
        check(&json!({"kept": {"x": 1, "closed": {"x": 1}}}), None);
        check(&json!({"metadata": {"x": 1}, "resource": {"metadata": {"x": 1}, "kind": "X"}}), None);
        check(&json!({"x": 1}), Some("x"));
        check(&json!({"closed": {"a": "", "x": 1}}), Some("closed.x"));
        check(&json!({"list": [{"a": ""}, {"x": 1}]}), Some("list[1].x"));
        check(&json!({"none": {"x": 1}}), Some("none.x"));
        check(&json!({"map": {"k": {"x": 1}}}), Some("map.k.x"));
        check(&json!({"resource": {"x": 1}}), Some("resource.x"));
    }
}
