//! Validation of roles and bindings beyond their schema, with the error texts of Kubernetes.

use machinery_objects::NameRule;
use serde_json::Value;

use super::GROUP;
use super::rules::text;
use crate::bounded::FieldErrors;
use crate::go_format::quote;
use crate::invalid::{FieldError, Problem};

/// Defaults the API group of `roleRef` and of subjects, as Kubernetes does.
pub(crate) fn fill_in(object: &mut Value) {
    if !text(object, "/kind").ends_with("RoleBinding") {
        return;
    }
    let set = |of: &mut Value| {
        if let Some(fields) = of.as_object_mut()
            && fields.get("apiGroup").is_none_or(|group| group.as_str() == Some("") || group.is_null())
        {
            fields.insert("apiGroup".into(), GROUP.into());
        }
    };
    object.get_mut("roleRef").map(set);
    for subject in object.get_mut("subjects").and_then(Value::as_array_mut).into_iter().flatten() {
        if matches!(text(subject, "/kind"), "User" | "Group") {
            set(subject);
        }
    }
}

/// Validates a Role, ClusterRole, RoleBinding or ClusterRoleBinding that would replace `old`,
/// except its metadata.
pub(crate) fn validate(object: &Value, old: Option<&Value>) -> Vec<FieldError> {
    match text(object, "/kind") {
        "Role" => rules(object, true),
        "ClusterRole" => {
            let selectors = object.pointer("/aggregationRule").filter(|it| !it.is_null());
            let none = selectors.is_some_and(|it| len(it, "clusterRoleSelectors") == 0);
            let detail = "at least one clusterRoleSelector required if aggregationRule is non-nil";
            let field = "aggregationRule.clusterRoleSelectors";
            let missing = none.then(|| FieldError::new(field, Problem::Required, detail));
            let errors: FieldErrors = rules(object, false).into_iter().chain(missing).collect();
            errors.into_list()
        }
        "RoleBinding" => binding(object, old, &["Role", "ClusterRole"]),
        "ClusterRoleBinding" => binding(object, old, &["ClusterRole"]),
        _ => Vec::new(),
    }
}

fn rules(object: &Value, namespaced: bool) -> Vec<FieldError> {
    let rules = object.get("rules").and_then(Value::as_array).into_iter().flatten().enumerate();
    let errors: FieldErrors =
        rules.flat_map(|(at, of)| rule(of, &format!("rules[{at}]"), namespaced)).collect();
    errors.into_list()
}

fn rule(rule: &Value, field: &str, namespaced: bool) -> Vec<FieldError> {
    let mut errors = Vec::new();
    let mut required = |name: &str, detail: &str| {
        if len(rule, name) == 0 {
            errors.push(FieldError::new(format!("{field}.{name}"), Problem::Required, detail));
        }
    };
    required("verbs", "verbs must contain at least one value");
    if len(rule, "nonResourceURLs") == 0 {
        required("apiGroups", "resource rules must supply at least one api group");
        required("resources", "resource rules must supply at least one resource");
        return errors;
    }
    let both = ["apiGroups", "resources", "resourceNames"].iter().any(|name| len(rule, name) > 0);
    let wrong = [
        (namespaced, "namespaced rules cannot apply to non-resource URLs"),
        (both, "rules cannot apply to both regular resources and non-resource URLs"),
    ];
    errors.extend(wrong.into_iter().filter(|(is, _)| *is).map(|(_, detail)| {
        FieldError::new(
            format!("{field}.nonResourceURLs"),
            Problem::Invalid(rule["nonResourceURLs"].clone()),
            detail,
        )
    }));
    errors
}

fn binding(object: &Value, old: Option<&Value>, kinds: &[&str]) -> Vec<FieldError> {
    let mut errors = FieldErrors::default();
    errors.extend(supported("roleRef.apiGroup", text(object, "/roleRef/apiGroup"), &[GROUP]));
    errors.extend(supported("roleRef.kind", text(object, "/roleRef/kind"), kinds));
    errors.extend(match text(object, "/roleRef/name") {
        "" => Some(FieldError::new("roleRef.name", Problem::Required, "")),
        name => {
            path_segment(name).map(|why| FieldError::new("roleRef.name", Problem::Invalid(name.into()), why))
        }
    });
    let subjects = object.get("subjects").and_then(Value::as_array).into_iter().flatten().enumerate();
    let in_cluster = text(object, "/kind") == "ClusterRoleBinding";
    errors.extend(subjects.flat_map(|(at, of)| subject(of, &format!("subjects[{at}]"), in_cluster)));
    if let Some(old) = old
        && old.get("roleRef") != object.get("roleRef")
    {
        let new = object.get("roleRef").cloned().unwrap_or_default();
        errors.push(FieldError::new("roleRef", Problem::Invalid(new), "cannot change roleRef"));
    }
    errors.into_list()
}

fn subject(subject: &Value, field: &str, in_cluster: bool) -> Vec<FieldError> {
    let [kind, name, group, namespace] =
        ["/kind", "/name", "/apiGroup", "/namespace"].map(|pointer| text(subject, pointer));
    let at = |child: &str| format!("{field}.{child}");
    let mut errors = Vec::new();
    if name.is_empty() {
        errors.push(FieldError::new(at("name"), Problem::Required, ""));
    }
    match kind {
        "ServiceAccount" => {
            if !name.is_empty() && NameRule::DnsSubdomain.check(name).is_err() {
                let why = if name.len() > 253 { "must be no more than 253 characters" } else { SUBDOMAIN };
                errors.push(FieldError::new(at("name"), Problem::Invalid(name.into()), why));
            }
            errors.extend(supported(&at("apiGroup"), group, &[""]));
            if in_cluster && namespace.is_empty() {
                errors.push(FieldError::new(at("namespace"), Problem::Required, ""));
            }
        }
        "User" | "Group" => {
            if name.is_empty() {
                let why = format!("{} name cannot be empty", kind.to_ascii_lowercase());
                errors.push(FieldError::new(at("name"), Problem::Invalid(name.into()), why));
            }
            errors.extend(supported(&at("apiGroup"), group, &[GROUP]));
        }
        _ => errors.extend(supported(&at("kind"), kind, &["ServiceAccount", "User", "Group"])),
    }
    errors
}

const SUBDOMAIN: &str = "a lowercase RFC 1123 subdomain must consist of lower case alphanumeric characters, '-' or \
    '.', and must start and end with an alphanumeric character (e.g. 'example.com', regex used for validation is \
    '[a-z0-9]([-a-z0-9]*[a-z0-9])?(\\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*')";

fn supported(field: &str, value: &str, among: &[&str]) -> Option<FieldError> {
    let values: Vec<_> = among.iter().map(|it| quote(it)).collect();
    let detail = format!("supported values: {}", values.join(", "));
    (!among.contains(&value)).then(|| FieldError::new(field, Problem::NotSupported(value.into()), detail))
}

fn path_segment(name: &str) -> Option<String> {
    match name {
        "." | ".." => Some(format!("may not be '{name}'")),
        _ => ['/', '%'].into_iter().find(|it| name.contains(*it)).map(|it| format!("may not contain '{it}'")),
    }
}

fn len(of: &Value, field: &str) -> usize {
    of.get(field).and_then(Value::as_array).map_or(0, Vec::len)
}
