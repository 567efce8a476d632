//! Type checks of validation rules, with the error messages of Go's decoder.

use serde_json::Value;

use super::unknown::{LISTS, MAPS, ONE, RULES};
use crate::builtin::{table, type_errors};
use crate::json::plain_type_name;

/// The fields of a validation rule with their types.
pub(super) const RULE: [(&str, &str); 6] = [
    ("rule", "string"),
    ("message", "string"),
    ("messageExpression", "string"),
    ("reason", "v1.FieldValueErrorReason"),
    ("fieldPath", "string"),
    ("optionalOldSelf", "bool"),
];

/// Fields that Kubernetes decodes separately, so that their errors name `JSONSchemaProps`.
pub(super) const DECODED_SEPARATELY: [&str; 4] =
    ["items", "additionalItems", "additionalProperties", "dependencies"];

/// Returns the first type error in the validation rules of a definition.
pub(super) fn error(crd: &Value) -> Option<String> {
    let versions = crd.pointer("/spec/versions").and_then(Value::as_array);
    versions.into_iter().flatten().find_map(|version| {
        let schema = version.pointer("/schema/openAPIV3Schema")?;
        schema_error(
            schema,
            &SchemaPath { path: "spec.versions.schema.openAPIV3Schema".into(), separate: false },
        )
    })
}

/// Returns the first type error in the parts of a definition that its own schema leaves open. They
/// could be stored, but not be encoded in protobuf.
pub(super) fn open_part_error(crd: &Value) -> Option<String> {
    let of = table().kind("apiextensions.k8s.io", "v1", "CustomResourceDefinition")?;
    let is_open = |path: &str| path.starts_with("spec.conversion") || path.contains(".openAPIV3Schema");
    type_errors(of, crd).into_iter().find(|error| is_open(&error.path)).map(|error| error.message)
}

#[derive(Clone)]
struct SchemaPath {
    /// The path in Go's notation, without property names and indexes.
    path: String,
    separate: bool,
}

impl SchemaPath {
    fn field(&self, name: &str) -> Self {
        Self {
            path: format!("{}.{name}", self.path),
            separate: self.separate || DECODED_SEPARATELY.contains(&name),
        }
    }

    fn error(&self, of: &str, value: &Value, expected: &str) -> String {
        let of = if self.separate { "JSONSchemaProps" } else { of };
        let found = plain_type_name(value);
        format!("json: cannot unmarshal {found} into Go struct field {of}.{} of type {expected}", self.path)
    }
}

fn schema_error(schema: &Value, place: &SchemaPath) -> Option<String> {
    if let Value::Array(all) = schema {
        return all.iter().find_map(|one| schema_error(one, place));
    }
    schema.as_object()?.iter().find_map(|(name, value)| {
        let place = place.field(name);
        let name = name.as_str();
        if name == RULES {
            rules_error(value, &place)
        } else if ONE.contains(&name) || LISTS.contains(&name) {
            schema_error(value, &place)
        } else if MAPS.contains(&name) {
            value.as_object()?.values().find_map(|value| schema_error(value, &place))
        } else {
            None
        }
    })
}

fn rules_error(rules: &Value, place: &SchemaPath) -> Option<String> {
    let rules = match rules {
        Value::Array(rules) => rules,
        Value::Null => return None,
        other => return Some(place.error("JSONSchemaProps", other, "v1.ValidationRules")),
    };
    rules.iter().find_map(|rule| match rule {
        Value::Object(fields) => fields.iter().find_map(|(name, value)| {
            let (_, expected) = RULE.iter().find(|(known, _)| known == name)?;
            let fits =
                value.is_null() || if *expected == "bool" { value.is_boolean() } else { value.is_string() };
            (!fits).then(|| place.field(name).error("ValidationRule", value, expected))
        }),
        Value::Null => None,
        other => Some(place.error("JSONSchemaProps", other, "v1.ValidationRule")),
    })
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[track_caller]
    fn check(schema: Value, expected: Option<&str>) {
        let crd = json!({"spec": {"versions": [{"schema": {"openAPIV3Schema": schema}}]}});
        let begin = "json: cannot unmarshal ";
        assert_eq!(error(&crd), expected.map(|expected| format!("{begin}{expected}")));
    }

    /// Stored with values of other types, a definition made each list of definitions in protobuf
    /// fail.
    #[test]
    fn open_parts_have_the_types_of_go() {
        let crd = |schema: Value, webhook: Value| {
            json!({"spec": {"conversion": {"strategy": "None", "webhook": webhook},
                "versions": [{"schema": {"openAPIV3Schema": schema}}]}})
        };
        let schema = json!({"type": "object", "properties": {"a": {"default": [1], "maximum": 1.5, "items": {"type": "string"}}}});
        assert_eq!(open_part_error(&crd(schema, json!({"clientConfig": {"url": "https://a"}}))), None);
        for (schema, webhook) in [
            (json!({"title": 5}), Value::Null),
            (json!({"properties": {"a": {"maximum": "x"}}}), Value::Null),
            (json!({"additionalProperties": 5}), Value::Null),
            (json!({"items": {"description": []}}), Value::Null),
            (json!({}), json!({"clientConfig": 5})),
        ] {
            assert!(open_part_error(&crd(schema.clone(), webhook)).is_some(), "{schema}");
        }
    }

    #[test]
    fn type_errors_of_rules_have_the_text_of_go() {
        let at = "spec.versions.schema.openAPIV3Schema";
        let rule = |rule: Value| json!({"x-kubernetes-validations": [{"rule": "true"}, rule]});
        check(rule(json!({"rule": "a", "reason": null, "optionalOldSelf": true, "odd": 1})), None);
        check(
            rule(json!({"message": 5})),
            Some(&format!(
                "number into Go struct field ValidationRule.{at}.x-kubernetes-validations.message of type string"
            )),
        );
        check(
            json!({"properties": {"a": {"allOf": [rule(json!({"optionalOldSelf": "true"}))]}}}),
            Some(&format!(
                "string into Go struct field ValidationRule.{at}.properties.allOf.x-kubernetes-validations.optionalOldSelf of type bool"
            )),
        );
        check(
            json!({"items": {"properties": {"a": rule(json!({"reason": [1]}))}}}),
            Some(&format!(
                "array into Go struct field JSONSchemaProps.{at}.items.properties.x-kubernetes-validations.reason of type \
                 v1.FieldValueErrorReason"
            )),
        );
        check(
            json!({"x-kubernetes-validations": {}}),
            Some(&format!(
                "object into Go struct field JSONSchemaProps.{at}.x-kubernetes-validations of type v1.ValidationRules"
            )),
        );
        check(
            rule(json!("self")),
            Some(&format!(
                "string into Go struct field JSONSchemaProps.{at}.x-kubernetes-validations of type v1.ValidationRule"
            )),
        );
    }
}
