//! Validates webhook configurations, with the messages of Kubernetes.

use std::collections::BTreeSet;

use machinery_objects::Requirement;
use serde_json::Value;

use super::{Configurations, client, rules};
use crate::admission::conditions;
use crate::invalid::{FieldError, Problem};
use crate::meta::names::{dns_1035_label, dns_subdomain, label_key, label_value};

/// The supported AdmissionReview version.
pub(crate) const REVIEWS: &str = "v1";

pub(super) fn webhooks(object: &Value, which: Configurations) -> Vec<FieldError> {
    let mut known = BTreeSet::new();
    let mut errors = Vec::new();
    for (at, webhook) in each(object, "webhooks").enumerate() {
        let field = format!("webhooks[{at}]");
        errors.extend(one(webhook, &field, which));
        let name = text(webhook, "name");
        if !name.is_empty() && !known.insert(name) {
            errors.push(FieldError::new(format!("{field}.name"), Problem::Duplicate(name.into()), ""));
        }
    }
    errors
}

fn one(webhook: &Value, field: &str, which: Configurations) -> Vec<FieldError> {
    let at = |child: &str| format!("{field}.{child}");
    let mut errors = versions(webhook, &at("admissionReviewVersions"));
    errors.extend(qualified(text(webhook, "name"), &at("name")));
    for (index, rule) in each(webhook, "rules").enumerate() {
        errors.extend(rules::errors(rule, &at(&format!("rules[{index}]"))));
    }
    let mut chosen = |child: &str, among: &[&str]| {
        if let Some(value) = webhook.get(child).and_then(Value::as_str) {
            errors.extend(supported(&at(child), value, among));
        }
    };
    chosen("failurePolicy", &["Fail", "Ignore"]);
    chosen("matchPolicy", &["Equivalent", "Exact"]);
    chosen("sideEffects", &["None", "NoneOnDryRun"]);
    if which == Configurations::Mutating {
        chosen("reinvocationPolicy", &["IfNeeded", "Never"]);
    }
    if webhook.get("sideEffects").is_none_or(Value::is_null) {
        let detail = "must specify one of None, NoneOnDryRun";
        errors.push(FieldError::new(at("sideEffects"), Problem::Required, detail));
    }
    if let Some(seconds) = webhook.get("timeoutSeconds").and_then(Value::as_i64)
        && !(1..=30).contains(&seconds)
    {
        let detail = "the timeout value must be between 1 and 30 seconds";
        errors.push(FieldError::new(at("timeoutSeconds"), Problem::Invalid(seconds.into()), detail));
    }
    for child in ["namespaceSelector", "objectSelector"] {
        errors.extend(selector(&webhook[child], &at(child)));
    }
    errors.extend(client::errors(&webhook["clientConfig"], &at("clientConfig")));
    errors.extend(conditions(webhook, &at("matchConditions")));
    errors
}

fn conditions(webhook: &Value, field: &str) -> Vec<FieldError> {
    let all: Vec<_> = each(webhook, "matchConditions").collect();
    if all.len() > conditions::MOST {
        return vec![FieldError::new(
            field,
            Problem::TooMany(all.len()),
            format!("must have at most {} items", conditions::MOST),
        )];
    }
    let mut errors = Vec::new();
    let mut known = BTreeSet::new();
    for (i, condition) in all.into_iter().enumerate() {
        let at = |name: &str| format!("{field}[{i}].{name}");
        let text = |name: &str| condition[name].as_str().unwrap_or_default();
        let (name, expression) = (text("name"), text("expression"));
        if expression.trim().is_empty() {
            errors.push(FieldError::new(at("expression"), Problem::Required, ""));
        } else if let Err(why) = conditions::compiled(expression) {
            errors.push(FieldError::new(at("expression"), Problem::Invalid(expression.into()), why));
        }
        if name.is_empty() {
            errors.push(FieldError::new(at("name"), Problem::Required, ""));
        } else {
            let wrong = label_key(name).into_iter();
            errors.extend(wrong.map(|why| FieldError::new(at("name"), Problem::Invalid(name.into()), why)));
        }
        if !name.is_empty() && !known.insert(name) {
            errors.push(FieldError::new(at("name"), Problem::Duplicate(name.into()), ""));
        }
    }
    errors
}

fn versions(webhook: &Value, field: &str) -> Vec<FieldError> {
    let said: Vec<&str> = each(webhook, "admissionReviewVersions").filter_map(Value::as_str).collect();
    if said.is_empty() {
        return vec![FieldError::new(field, Problem::Required, format!("must specify one of {REVIEWS}"))];
    }
    let mut errors = Vec::new();
    let mut known = BTreeSet::new();
    for (at, version) in said.iter().enumerate() {
        let error = |detail: &str| {
            FieldError::new(format!("{field}[{at}]"), Problem::Invalid((*version).into()), detail)
        };
        if !known.insert(version) {
            errors.push(error("duplicate version"));
            continue;
        }
        errors.extend(dns_1035_label(version).iter().map(|why| error(why)));
    }
    if !said.contains(&REVIEWS) {
        let problem = Problem::Invalid(webhook["admissionReviewVersions"].clone());
        errors.push(FieldError::new(field, problem, format!("must include at least one of {REVIEWS}")));
    }
    errors
}

fn qualified(name: &str, field: &str) -> Option<FieldError> {
    if name.is_empty() {
        return Some(FieldError::new(field, Problem::Required, ""));
    }
    let wrong = dns_subdomain(name);
    let why = match wrong.is_empty() {
        false => wrong.join(","),
        true if name.split('.').count() < 3 => {
            "should be a domain with at least three segments separated by dots".into()
        }
        true => return None,
    };
    Some(FieldError::new(field, Problem::Invalid(name.into()), why))
}

fn selector(selector: &Value, field: &str) -> Vec<FieldError> {
    let mut errors = Vec::new();
    for (key, value) in selector.get("matchLabels").and_then(Value::as_object).into_iter().flatten() {
        let value = value.as_str().unwrap_or_default();
        let wrong = label_key(key).into_iter().map(|why| (key.as_str(), why));
        let wrong = wrong.chain(label_value(value).into_iter().map(|why| (value, why)));
        let at = format!("{field}.matchLabels");
        errors.extend(wrong.map(|(text, why)| FieldError::new(&at, Problem::Invalid(text.into()), why)));
    }
    for (at, expression) in each(selector, "matchExpressions").enumerate() {
        let at = |child: &str| format!("{field}.matchExpressions[{at}].{child}");
        let (key, operator) = (text(expression, "key"), text(expression, "operator"));
        let values: Vec<&str> = each(expression, "values").filter_map(Value::as_str).collect();
        match operator {
            "In" | "NotIn" if values.is_empty() => {
                let detail = "must be specified when `operator` is 'In' or 'NotIn'";
                errors.push(FieldError::new(at("values"), Problem::Required, detail));
            }
            "Exists" | "DoesNotExist" if !values.is_empty() => {
                let detail = "may not be specified when `operator` is 'Exists' or 'DoesNotExist'";
                errors.push(FieldError::new(at("values"), Problem::Forbidden, detail));
            }
            "In" | "NotIn" | "Exists" | "DoesNotExist" => {}
            other => {
                let problem = Problem::Invalid(other.into());
                errors.push(FieldError::new(at("operator"), problem, "not a valid selector operator"));
            }
        }
        let wrong = label_key(key);
        let is_key = wrong.is_empty();
        let error = |why| FieldError::new(at("key"), Problem::Invalid(key.into()), why);
        errors.extend(wrong.into_iter().map(error));
        for (index, value) in values.iter().enumerate() {
            let error = |why| {
                FieldError::new(format!("{}[{index}]", at("values")), Problem::Invalid((*value).into()), why)
            };
            errors.extend(label_value(value).into_iter().map(error));
        }
        // Valid selectors must compile later.
        debug_assert!(
            !errors.is_empty() || !is_key || Requirement::from_expression(key, operator, &values).is_ok()
        );
    }
    errors
}

pub(super) fn supported(field: &str, value: &str, among: &[&str]) -> Option<FieldError> {
    let values: Vec<_> = among.iter().map(|one| format!("\"{one}\"")).collect();
    let detail = format!("supported values: {}", values.join(", "));
    (!among.contains(&value)).then(|| FieldError::new(field, Problem::NotSupported(value.into()), detail))
}

/// Returns the items of a list, or nothing.
pub(super) fn each<'a>(of: &'a Value, field: &str) -> impl Iterator<Item = &'a Value> {
    of.get(field).and_then(Value::as_array).into_iter().flatten()
}

pub(super) fn text<'a>(of: &'a Value, field: &str) -> &'a str {
    of.get(field).and_then(Value::as_str).unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    /// Validates a correct webhook with these fields replaced.
    #[track_caller]
    fn check(more: Value, expected: &[&str]) {
        let mut webhook = json!({
            "name": "a.example.com", "admissionReviewVersions": ["v1"], "sideEffects": "None",
            "clientConfig": {"url": "https://localhost/"},
            "rules": [{"operations": ["*"], "apiGroups": ["*"], "apiVersions": ["*"], "resources": ["*"]}],
        });
        webhook.as_object_mut().unwrap().extend(more.as_object().unwrap().clone());
        let said = webhooks(&json!({"webhooks": [webhook]}), Configurations::Mutating);
        let said: Vec<String> = said.iter().map(ToString::to_string).collect();
        let expected: Vec<String> = expected.iter().map(|one| format!("webhooks[0].{one}")).collect();
        assert_eq!(said, expected, "{more}");
    }

    #[test]
    fn valid_webhooks_are_accepted() {
        check(json!({}), &[]);
        check(json!({"admissionReviewVersions": ["v1beta1", "v1"], "timeoutSeconds": 30}), &[]);
        check(
            json!({"clientConfig": {"service": {"name": "a", "namespace": "b", "path": "/c/d/", "port": 1}}}),
            &[],
        );
        check(
            json!({"objectSelector": {"matchExpressions": [{"key": "a/b", "operator": "In", "values": ["c"]}]}}),
            &[],
        );
    }

    #[test]
    fn invalid_webhooks_are_refused_with_the_messages_of_kubernetes() {
        check(json!({"name": ""}), &["name: Required value"]);
        check(
            json!({"name": "a.b"}),
            &[
                "name: Invalid value: \"a.b\": should be a domain with at least three segments separated by dots",
            ],
        );
        check(
            json!({"sideEffects": null}),
            &["sideEffects: Required value: must specify one of None, NoneOnDryRun"],
        );
        check(
            json!({"sideEffects": "Some"}),
            &["sideEffects: Unsupported value: \"Some\": supported values: \"None\", \"NoneOnDryRun\""],
        );
        check(
            json!({"admissionReviewVersions": []}),
            &["admissionReviewVersions: Required value: must specify one of v1"],
        );
        check(
            json!({"admissionReviewVersions": ["v2"]}),
            &["admissionReviewVersions: Invalid value: [\"v2\"]: must include at least one of v1"],
        );
        check(
            json!({"admissionReviewVersions": ["v1", "v1"]}),
            &["admissionReviewVersions[1]: Invalid value: \"v1\": duplicate version"],
        );
        for seconds in [0, 31, -1] {
            let said = format!(
                "timeoutSeconds: Invalid value: {seconds}: the timeout value must be between 1 and 30 seconds"
            );
            check(json!({"timeoutSeconds": seconds}), &[&said]);
        }
        check(
            json!({"failurePolicy": "Later", "matchPolicy": "All", "reinvocationPolicy": "Once"}),
            &[
                "failurePolicy: Unsupported value: \"Later\": supported values: \"Fail\", \"Ignore\"",
                "matchPolicy: Unsupported value: \"All\": supported values: \"Equivalent\", \"Exact\"",
                "reinvocationPolicy: Unsupported value: \"Once\": supported values: \"IfNeeded\", \"Never\"",
            ],
        );
        check(
            json!({"objectSelector": {"matchExpressions": [{"key": "a", "operator": "Like"}, {"key": "a", "operator": "In"}]}}),
            &[
                "objectSelector.matchExpressions[0].operator: Invalid value: \"Like\": not a valid selector operator",
                "objectSelector.matchExpressions[1].values: Required value: must be specified when `operator` is 'In' or 'NotIn'",
            ],
        );
        check(json!({"matchConditions": [{"name": "a", "expression": "object.x == 1"}]}), &[]);
        check(
            json!({"matchConditions": [{"name": "a", "expression": "1"}, {"name": "a", "expression": " "}, {"expression": "true"}]}),
            &[
                "matchConditions[0].expression: Invalid value: \"1\": must evaluate to bool",
                "matchConditions[1].expression: Required value",
                "matchConditions[1].name: Duplicate value: \"a\"",
                "matchConditions[2].name: Required value",
            ],
        );
    }

    #[test]
    fn names_of_webhooks_are_unique() {
        let hook = json!({
            "name": "a.example.com", "admissionReviewVersions": ["v1"], "sideEffects": "None",
            "clientConfig": {"url": "https://localhost/"},
        });
        let said = webhooks(&json!({"webhooks": [hook, hook]}), Configurations::Validating);
        let said: Vec<String> = said.iter().map(ToString::to_string).collect();
        assert_eq!(said, ["webhooks[1].name: Duplicate value: \"a.example.com\""]);
    }
}
