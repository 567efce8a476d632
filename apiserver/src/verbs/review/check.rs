//! Validates access reviews, with the messages of Kubernetes.

use serde_json::Value;

use super::text;
use crate::bounded::FieldErrors;
use crate::invalid::{FieldError, Problem};

/// Validates a spec. `requires_subject`: it must name a user or group. `within`: its namespace must
/// be this one.
pub(super) fn spec_errors(spec: &Value, requires_subject: bool, within: Option<&str>) -> Vec<FieldError> {
    let (resource, path) = (&spec["resourceAttributes"], &spec["nonResourceAttributes"]);
    let mut errors = FieldErrors::default();
    let mut wrong = |field: &str, value: &Value, why: &str| {
        errors.push(FieldError::new(format!("spec.{field}"), Problem::Invalid(value.clone()), why));
    };
    match (resource.is_object(), path.is_object()) {
        (true, true) => {
            wrong(
                "nonResourceAttributes",
                path,
                "cannot be specified in combination with resourceAttributes",
            );
        }
        (false, false) => {
            let why = "exactly one of nonResourceAttributes or resourceAttributes must be specified";
            wrong("resourceAttributes", &Value::Null, why);
        }
        _ => {}
    }
    let nobody = text(spec, "user").is_empty() && spec["groups"].as_array().is_none_or(Vec::is_empty);
    if requires_subject && nobody {
        wrong("user", &"".into(), "at least one of user or group must be specified");
    }
    if let Some(within) = within {
        let namespace = text(resource, "namespace");
        if resource.is_object() && namespace != within {
            wrong("resourceAttributes.namespace", &namespace.into(), "must match metadata.namespace");
        }
        if path.is_object() {
            wrong("nonResourceAttributes", path, "disallowed on this kind of request");
        }
    }
    for selector in ["fieldSelector", "labelSelector"] {
        selector_errors(&resource[selector], &format!("spec.resourceAttributes.{selector}"), &mut errors);
    }
    errors.into_list()
}

/// Validates metadata: a review has no name, labels or other fields.
pub(super) fn metadata_errors(metadata: &Value, within: Option<&str>) -> Vec<FieldError> {
    let mut rest = metadata.clone();
    if let Some(rest) = rest.as_object_mut() {
        rest.retain(|field, value| {
            let is_place = field == "namespace" && within.is_some();
            !value.is_null() && field != "managedFields" && !is_place
        });
    }
    match rest.as_object().is_none_or(|rest| rest.is_empty()) {
        true => Vec::new(),
        false => vec![FieldError::new("metadata", Problem::Invalid(rest), "must be empty")],
    }
}

fn selector_errors(selector: &Value, at: &str, errors: &mut FieldErrors) {
    if !selector.is_object() {
        return;
    }
    let none = Vec::new();
    let (raw, requirements) =
        (text(selector, "rawSelector"), selector["requirements"].as_array().unwrap_or(&none));
    match (raw.is_empty(), requirements.is_empty()) {
        (false, false) => {
            let why = "may not specified at the same time as requirements";
            errors.push(FieldError::new(format!("{at}.rawSelector"), Problem::Invalid(raw.into()), why));
        }
        (true, true) => {
            let why = format!("when {at} is specified, requirements or rawSelector is required");
            errors.push(FieldError::new(format!("{at}.requirements"), Problem::Required, why));
        }
        _ => {}
    }
    for (index, requirement) in requirements.iter().enumerate() {
        let at = format!("{at}.requirements[{index}]");
        let has_values = requirement["values"].as_array().is_some_and(|values| !values.is_empty());
        let values = |problem, why: &str| FieldError::new(format!("{at}.values"), problem, why);
        match text(requirement, "operator") {
            "In" | "NotIn" if !has_values => {
                let why = "must be specified when `operator` is 'In' or 'NotIn'";
                errors.push(values(Problem::Required, why));
            }
            "Exists" | "DoesNotExist" if has_values => {
                let why = "may not be specified when `operator` is 'Exists' or 'DoesNotExist'";
                errors.push(values(Problem::Forbidden, why));
            }
            // An unknown operator is left to the authorizer.
            _ => {}
        }
        if text(requirement, "key").is_empty() {
            errors.push(FieldError::new(format!("{at}.key"), Problem::Required, "must be specified"));
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[track_caller]
    fn check(spec: &Value, requires_subject: bool, within: Option<&str>, expected: &[&str]) {
        let errors = spec_errors(spec, requires_subject, within);
        assert_eq!(errors.iter().map(ToString::to_string).collect::<Vec<_>>(), expected, "{spec}");
    }

    #[test]
    fn a_review_has_one_target_and_a_subject() {
        let (pods, path) = (json!({"resource": "pods", "namespace": "a"}), json!({"path": "/x"}));
        check(&json!({"resourceAttributes": pods}), false, None, &[]);
        check(&json!({"nonResourceAttributes": path, "groups": ["g"]}), true, None, &[]);
        let both = json!({"resourceAttributes": pods, "nonResourceAttributes": path, "user": "u"});
        let combined = "spec.nonResourceAttributes: Invalid value: {\"path\":\"/x\"}: cannot be specified in combination with resourceAttributes";
        check(&both, true, None, &[combined]);
        let neither = "spec.resourceAttributes: Invalid value: null: exactly one of nonResourceAttributes or resourceAttributes must be specified";
        let nobody = "spec.user: Invalid value: \"\": at least one of user or group must be specified";
        check(&json!({"groups": []}), true, None, &[neither, nobody]);
    }

    #[test]
    fn a_namespaced_review_must_be_about_its_namespace() {
        let pods = |namespace: &str| json!({"user": "u", "resourceAttributes": {"namespace": namespace}});
        check(&pods("a"), true, Some("a"), &[]);
        for other in ["b", ""] {
            let why = format!(
                "spec.resourceAttributes.namespace: Invalid value: \"{other}\": must match metadata.namespace"
            );
            check(&pods(other), true, Some("a"), &[&why]);
        }
        let path = json!({"user": "u", "nonResourceAttributes": {}});
        let why = "spec.nonResourceAttributes: Invalid value: {}: disallowed on this kind of request";
        check(&path, true, Some("a"), &[why]);
    }

    #[test]
    fn selectors_are_whole() {
        let asked = |selector: Value| json!({"resourceAttributes": {"labelSelector": selector}});
        let at = "spec.resourceAttributes.labelSelector";
        let either = format!(
            "{at}.requirements: Required value: when {at} is specified, requirements or rawSelector is required"
        );
        check(&asked(json!({})), false, None, &[&either]);
        check(&asked(json!({"rawSelector": "a=b"})), false, None, &[]);
        let both = json!({"rawSelector": "a", "requirements": [{"key": "a", "operator": "Exists"}]});
        let why = format!(
            "{at}.rawSelector: Invalid value: \"a\": may not specified at the same time as requirements"
        );
        check(&asked(both), false, None, &[&why]);
        let bare = json!({"requirements": [{"operator": "In"}, {"key": "b", "operator": "Exists", "values": ["x"]}]});
        let why = [
            format!(
                "{at}.requirements[0].values: Required value: must be specified when `operator` is 'In' or 'NotIn'"
            ),
            format!("{at}.requirements[0].key: Required value: must be specified"),
            format!(
                "{at}.requirements[1].values: Forbidden: may not be specified when `operator` is 'Exists' or 'DoesNotExist'"
            ),
        ];
        check(&asked(bare), false, None, &why.each_ref().map(String::as_str));
    }

    #[test]
    fn a_review_has_no_metadata() {
        let check = |metadata: Value, within, expected| {
            assert_eq!(metadata_errors(&metadata, within).is_empty(), expected, "{metadata}");
        };
        check(json!(null), None, true);
        check(json!({"creationTimestamp": null}), None, true);
        check(json!({"namespace": "a"}), Some("a"), true);
        check(json!({"namespace": "a"}), None, false);
        check(json!({"name": "a"}), None, false);
        check(json!({"labels": {"a": "b"}}), Some("a"), false);
    }
}
