//! Validates rules of webhooks.

use std::collections::BTreeSet;

use serde_json::Value;

use super::validate::{each, supported, text};
use crate::invalid::{FieldError, Problem};

pub(super) fn errors(rule: &Value, field: &str) -> Vec<FieldError> {
    let mut errors = Vec::new();
    for (child, what) in
        [("operations", "operations"), ("apiGroups", "API groups"), ("apiVersions", "API versions")]
    {
        let at = format!("{field}.{child}");
        let said: Vec<&str> = each(rule, child).filter_map(Value::as_str).collect();
        if said.is_empty() {
            errors.push(FieldError::new(&at, Problem::Required, ""));
        }
        if said.len() > 1 && said.contains(&"*") {
            let detail = format!("if '*' is present, must not specify other {what}");
            errors.push(FieldError::new(&at, Problem::Invalid(rule[child].clone()), detail));
        }
        for (index, said) in said.into_iter().enumerate() {
            let at = format!("{at}[{index}]");
            match child {
                "operations" => errors.extend(supported(&at, said, OPERATIONS)),
                "apiVersions" if said.is_empty() => errors.push(FieldError::new(at, Problem::Required, "")),
                _ => {}
            }
        }
    }
    errors.extend(resources(&rule["resources"], &format!("{field}.resources")));
    if !text(rule, "scope").is_empty() {
        errors.extend(supported(
            &format!("{field}.scope"),
            text(rule, "scope"),
            &["*", "Cluster", "Namespaced"],
        ));
    }
    errors
}

const OPERATIONS: &[&str] = &["*", "CONNECT", "CREATE", "DELETE", "UPDATE"];

fn resources(list: &Value, field: &str) -> Vec<FieldError> {
    let said: Vec<&str> = list.as_array().into_iter().flatten().filter_map(Value::as_str).collect();
    let mut errors = Vec::new();
    if said.is_empty() {
        errors.push(FieldError::new(field, Problem::Required, ""));
    }
    let (mut all_of, mut of_all) = (BTreeSet::new(), BTreeSet::new());
    for (at, one) in said.iter().enumerate() {
        let at = format!("{field}[{at}]");
        if one.is_empty() {
            errors.push(FieldError::new(at, Problem::Required, ""));
            continue;
        }
        let Some((resource, sub)) = one.split_once('/') else { continue };
        let covered = if all_of.contains(resource) {
            Some(format!("{resource}/*"))
        } else {
            of_all.contains(sub).then(|| format!("*/{sub}"))
        };
        if let Some(by) = covered {
            let detail = format!("if '{by}' is present, must not specify {one}");
            errors.push(FieldError::new(at, Problem::Invalid((*one).into()), detail));
        }
        if sub == "*" {
            all_of.insert(resource);
        }
        if resource == "*" {
            of_all.insert(sub);
        }
    }
    if said.len() > 1 && said.contains(&"*/*") {
        let detail = "if '*/*' is present, must not specify other resources";
        errors.push(FieldError::new(field, Problem::Invalid(list.clone()), detail));
    }
    if said.contains(&"*") && said.iter().any(|one| *one != "*" && !one.contains('/')) {
        let detail = "if '*' is present, must not specify other resources without subresources";
        errors.push(FieldError::new(field, Problem::Invalid(list.clone()), detail));
    }
    errors
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[track_caller]
    fn check(more: Value, expected: &[&str]) {
        let mut rule = json!({"operations": ["CREATE"], "apiGroups": [""], "apiVersions": ["v1"], "resources": ["pods"]});
        rule.as_object_mut().unwrap().extend(more.as_object().unwrap().clone());
        let said: Vec<String> = errors(&rule, "r").iter().map(ToString::to_string).collect();
        assert_eq!(said, expected, "{more}");
    }

    #[test]
    fn rule_fields_are_validated() {
        check(json!({}), &[]);
        check(json!({"scope": "Cluster", "resources": ["*", "pods/status"]}), &[]);
        check(
            json!({"operations": [], "apiGroups": [], "apiVersions": [""], "resources": [""]}),
            &[
                "r.operations: Required value",
                "r.apiGroups: Required value",
                "r.apiVersions[0]: Required value",
                "r.resources[0]: Required value",
            ],
        );
        check(
            json!({"operations": ["*", "CREATE"]}),
            &[
                "r.operations: Invalid value: [\"*\",\"CREATE\"]: if '*' is present, must not specify other operations",
            ],
        );
        check(
            json!({"operations": ["MAKE"], "scope": "All"}),
            &[
                "r.operations[0]: Unsupported value: \"MAKE\": supported values: \"*\", \"CONNECT\", \"CREATE\", \"DELETE\", \"UPDATE\"",
                "r.scope: Unsupported value: \"All\": supported values: \"*\", \"Cluster\", \"Namespaced\"",
            ],
        );
    }

    #[test]
    fn redundant_resources_are_refused() {
        check(
            json!({"resources": ["pods/*", "pods/status"]}),
            &[
                "r.resources[1]: Invalid value: \"pods/status\": if 'pods/*' is present, must not specify pods/status",
            ],
        );
        check(
            json!({"resources": ["*", "pods"]}),
            &[
                "r.resources: Invalid value: [\"*\",\"pods\"]: if '*' is present, must not specify other resources without subresources",
            ],
        );
        check(
            json!({"resources": ["*/*", "pods"]}),
            &[
                "r.resources: Invalid value: [\"*/*\",\"pods\"]: if '*/*' is present, must not specify other resources",
            ],
        );
    }
}
