//! Type checks of validation rules, with the error messages of Go's decoder.

use serde_json::Value;

use super::unknown::{LISTS, MAPS, ONE, RULES};
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
