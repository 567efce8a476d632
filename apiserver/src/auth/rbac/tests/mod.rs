//! Compares RBAC decisions with those of a naive implementation, and texts with those of
//! Kubernetes.

mod decisions;
mod forms;
mod grants;
mod oracle;
mod random;

use serde_json::{Value, json};

use super::{RequestAttributes, ResourceAttributes};
use crate::auth::identity::Identity;

/// A rule as JSON, from `verbs groups resources [names]` with comma-separated lists; `-` is the
/// core group.
fn rule(text: &str) -> Value {
    let words: Vec<Vec<_>> = text.split(' ').map(|word| word.split(',').map(unless_none).collect()).collect();
    match words.as_slice() {
        [verbs, groups, resources] => json!({"verbs": verbs, "apiGroups": groups, "resources": resources}),
        [verbs, groups, resources, names] => {
            json!({"verbs": verbs, "apiGroups": groups, "resources": resources, "resourceNames": names})
        }
        [verbs, paths] => json!({"verbs": verbs, "nonResourceURLs": paths}),
        _ => panic!("a rule: {text}"),
    }
}

fn unless_none(word: &str) -> &str {
    if word == "-" { "" } else { word }
}

fn cluster_role(name: &str, rules: &[&str]) -> Value {
    json!({"kind": "ClusterRole", "metadata": {"name": name}, "rules": rules.iter().map(|it| rule(it)).collect::<Vec<_>>()})
}

fn role(namespace: &str, name: &str, rules: &[&str]) -> Value {
    let mut role = cluster_role(name, rules);
    role["kind"] = "Role".into();
    role["metadata"]["namespace"] = namespace.into();
    role
}

/// `to` is the `KIND/NAME` of a role; `subjects` are `User/NAME`, `Group/NAME` or
/// `ServiceAccount/NAMESPACE/NAME`.
fn cluster_binding(name: &str, to: &str, subjects: &[&str]) -> Value {
    let (kind, role) = to.split_once('/').expect("KIND/NAME");
    let subject = |text: &&str| match text.split('/').collect::<Vec<_>>().as_slice() {
        [kind, name] => json!({"kind": kind, "name": name}),
        [kind, namespace, name] => json!({"kind": kind, "namespace": namespace, "name": name}),
        _ => panic!("a subject: {text}"),
    };
    json!({
        "kind": "ClusterRoleBinding", "metadata": {"name": name}, "roleRef": {"kind": kind, "name": role},
        "subjects": subjects.iter().map(subject).collect::<Vec<_>>(),
    })
}

fn binding(namespace: &str, name: &str, to: &str, subjects: &[&str]) -> Value {
    let mut binding = cluster_binding(name, to, subjects);
    binding["kind"] = "RoleBinding".into();
    binding["metadata"]["namespace"] = namespace.into();
    binding
}

/// `verb group resource[/subresource] [namespace[/name]]`; `-` for an empty group or namespace.
fn asked(text: &str) -> RequestAttributes<'_> {
    let words: Vec<_> = text.split(' ').map(unless_none).collect();
    let [verb, group, resource, rest @ ..] = words.as_slice() else { panic!("a request: {text}") };
    let (resource, subresource) = resource.split_once('/').unwrap_or((resource, ""));
    let place = rest.first().copied().unwrap_or_default();
    let (namespace, name) = place.split_once('/').unwrap_or((place, ""));
    let namespace = unless_none(namespace);
    RequestAttributes::of(verb, ResourceAttributes { group, resource, subresource, namespace, name })
}

fn user(name: &str) -> Identity {
    Identity::new(name)
}
