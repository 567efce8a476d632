//! Unknown fields of schemas: reported, and pruned when a definition is written.

use serde_json::Value;

use super::types::{DECODED_SEPARATELY, RULE};
use crate::bounded::{BoundedTexts, short};

/// The fields of a schema that do not contain schemas.
const PLAIN: [&str; 32] = [
    "id",
    "$schema",
    "$ref",
    "description",
    "type",
    "format",
    "title",
    "default",
    "maximum",
    "exclusiveMaximum",
    "minimum",
    "exclusiveMinimum",
    "maxLength",
    "minLength",
    "pattern",
    "maxItems",
    "minItems",
    "uniqueItems",
    "multipleOf",
    "enum",
    "maxProperties",
    "minProperties",
    "required",
    "externalDocs",
    "example",
    "nullable",
    "x-kubernetes-preserve-unknown-fields",
    "x-kubernetes-embedded-resource",
    "x-kubernetes-int-or-string",
    "x-kubernetes-list-map-keys",
    "x-kubernetes-list-type",
    "x-kubernetes-map-type",
];
pub(super) const RULES: &str = "x-kubernetes-validations";
pub(super) const ONE: [&str; 4] = ["items", "not", "additionalProperties", "additionalItems"];
pub(super) const LISTS: [&str; 3] = ["allOf", "oneOf", "anyOf"];
pub(super) const MAPS: [&str; 4] = ["properties", "patternProperties", "definitions", "dependencies"];

/// Prunes unknown fields from the schemas of a definition; returns their paths. As in Kubernetes,
/// those in separately decoded schemas are pruned silently.
pub(super) fn prune(crd: &mut Value) -> BoundedTexts {
    let mut found = BoundedTexts::default();
    let versions = crd.pointer_mut("/spec/versions").and_then(Value::as_array_mut);
    for (at, version) in versions.into_iter().flatten().enumerate() {
        if let Some(schema) = version.pointer_mut("/schema/openAPIV3Schema") {
            of(schema, &format!("spec.versions[{at}].schema.openAPIV3Schema"), &mut found);
        }
    }
    found
}

fn of(schema: &mut Value, at: &str, found: &mut BoundedTexts) {
    if let Some(all) = schema.as_array_mut() {
        all.iter_mut().enumerate().for_each(|(index, one)| of(one, &format!("{at}[{index}]"), found));
    }
    let Some(fields) = schema.as_object_mut() else { return };
    fields.retain(|name, value| {
        let at = format!("{at}.{}", short(name));
        let mut unreported = BoundedTexts::default();
        let found = if DECODED_SEPARATELY.contains(&name.as_str()) { &mut unreported } else { &mut *found };
        if ONE.contains(&name.as_str()) || LISTS.contains(&name.as_str()) {
            of(value, &at, found);
        } else if MAPS.contains(&name.as_str()) {
            let each = value.as_object_mut().into_iter().flatten();
            each.for_each(|(name, value)| of(value, &format!("{at}.{}", short(name)), found));
        } else if name == RULES {
            let each = value.as_array_mut().into_iter().flatten().enumerate();
            each.for_each(|(index, rule)| of_rule(rule, &format!("{at}[{index}]"), found));
        } else if !PLAIN.contains(&name.as_str()) {
            found.push(at);
            return false;
        }
        true
    });
}

/// A null field of a rule counts as absent.
fn of_rule(rule: &mut Value, at: &str, found: &mut BoundedTexts) {
    let Some(fields) = rule.as_object_mut() else { return };
    fields.retain(|name, value| {
        let known = RULE.iter().any(|(known, _)| known == name);
        if !known {
            found.push(format_args!("{at}.{}", short(name)));
        }
        known && !value.is_null()
    });
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn unknown_fields_of_rules_are_reported_and_pruned() {
        let crd = |rule: Value| {
            let rules = json!({"x-kubernetes-validations": [{"rule": "true"}, rule]});
            let schema = json!({"type": "object", "properties": {"a": {"allOf": [rules], "items": rules}}});
            json!({"spec": {"versions": [{"schema": {"openAPIV3Schema": schema}}]}})
        };
        let mut odd =
            crd(json!({"rule": "true", "messagExpression": "'a'", "reason": null, "fieldPath": ".a"}));
        let at = "spec.versions[0].schema.openAPIV3Schema.properties.a.allOf[0].x-kubernetes-validations[1]";
        assert_eq!(prune(&mut odd).kept(), [format!("{at}.messagExpression")]);
        assert_eq!(odd, crd(json!({"rule": "true", "fieldPath": ".a"})));
    }

    #[test]
    fn unknown_fields_of_schemas_are_reported_and_pruned() {
        let crd = |schema: Value| json!({"spec": {"versions": [{"schema": {"openAPIV3Schema": schema}}]}});
        let mut odd = crd(json!({
            "type": "object", "x-odd": 1,
            "properties": {"x-kept": {"anyOf": [{"pattern": "a", "patern": "b"}], "default": {"odd": 1}}},
        }));
        let at = "spec.versions[0].schema.openAPIV3Schema";
        assert_eq!(
            prune(&mut odd).kept(),
            [format!("{at}.properties.x-kept.anyOf[0].patern"), format!("{at}.x-odd")]
        );
        let whole = crd(json!({
            "type": "object", "properties": {"x-kept": {"anyOf": [{"pattern": "a"}], "default": {"odd": 1}}},
        }));
        assert_eq!(odd, whole);
        assert!(prune(&mut odd).kept().is_empty());
        for mut other in [json!({"spec": {"versions": "none"}}), json!({})] {
            let before = other.clone();
            assert!(prune(&mut other).kept().is_empty());
            assert_eq!(other, before);
        }
    }
}
