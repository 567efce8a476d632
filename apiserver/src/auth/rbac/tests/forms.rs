use serde_json::{Value, json};

use super::super::validate::{fill_in, validate};
use super::{binding, cluster_binding, cluster_role, role};

fn check(object: &Value, old: Option<&Value>, expected: &[&str]) {
    let mut object = object.clone();
    fill_in(&mut object);
    let errors: Vec<_> = validate(&object, old).iter().map(ToString::to_string).collect();
    assert_eq!(errors, expected, "{object}");
}

#[test]
fn a_rule_is_for_resources_or_for_paths() {
    check(&cluster_role("r", &["get - pods x", "get /x"]), None, &[]);
    check(&role("a", "r", &["* * */status"]), None, &[]);
    let mut wrong = role("a", "r", &[]);
    check(&wrong, None, &[]);
    wrong["rules"] = json!([{"verbs": ["get"], "nonResourceURLs": ["/x"], "resources": ["pods"]}, {}]);
    let both = "rules[0].nonResourceURLs: Invalid value: [\"/x\"]: rules cannot apply to both regular resources and \
                non-resource URLs";
    let nothing = [
        "rules[1].verbs: Required value: verbs must contain at least one value",
        "rules[1].apiGroups: Required value: resource rules must supply at least one api group",
        "rules[1].resources: Required value: resource rules must supply at least one resource",
    ];
    let namespaced = "rules[0].nonResourceURLs: Invalid value: [\"/x\"]: namespaced rules cannot apply to non-resource URLs";
    check(&wrong, None, &[&[namespaced, both], &nothing[..]].concat());
    wrong["kind"] = "ClusterRole".into();
    wrong["aggregationRule"] = json!({});
    let selectors = "aggregationRule.clusterRoleSelectors: Required value: at least one clusterRoleSelector required if \
                     aggregationRule is non-nil";
    check(&wrong, None, &[&[both], &nothing[..], &[selectors]].concat());
}

#[test]
fn a_binding_names_a_role_and_subjects() {
    let good = binding("a", "b", "Role/r", &["User/ann", "Group/dev", "ServiceAccount/robot"]);
    check(&good, None, &[]);
    check(&cluster_binding("b", "ClusterRole/r", &["ServiceAccount/a/robot"]), None, &[]);
    let group = "supported values: \"rbac.authorization.k8s.io\"";
    let mut wrong = cluster_binding("b", "Role/", &["User/", "ServiceAccount/Robot", "Node/n"]);
    wrong["roleRef"]["apiGroup"] = "rbac".into();
    wrong["subjects"][0]["apiGroup"] = "v1".into();
    wrong["subjects"][1]["apiGroup"] = "v1".into();
    let errors = [
        &format!("roleRef.apiGroup: Unsupported value: \"rbac\": {group}"),
        "roleRef.kind: Unsupported value: \"Role\": supported values: \"ClusterRole\"",
        "roleRef.name: Required value",
        "subjects[0].name: Required value",
        "subjects[0].name: Invalid value: \"\": user name cannot be empty",
        &format!("subjects[0].apiGroup: Unsupported value: \"v1\": {group}"),
        "subjects[1].name: Invalid value: \"Robot\": a lowercase RFC 1123 subdomain must consist of lower case \
         alphanumeric characters, '-' or '.', and must start and end with an alphanumeric character (e.g. \
         'example.com', regex used for validation is \
         '[a-z0-9]([-a-z0-9]*[a-z0-9])?(\\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*')",
        "subjects[1].apiGroup: Unsupported value: \"v1\": supported values: \"\"",
        "subjects[1].namespace: Required value",
        "subjects[2].kind: Unsupported value: \"Node\": supported values: \"ServiceAccount\", \"User\", \"Group\"",
    ];
    check(&wrong, None, &errors);
    for (name, why) in [("..", "may not be '..'"), ("a%b", "may not contain '%'")] {
        let error = format!("roleRef.name: Invalid value: {name:?}: {why}");
        check(&binding("a", "b", &format!("Role/{name}"), &[]), None, &[&error]);
    }
}

#[test]
fn the_role_of_a_binding_is_immutable() {
    let mut old = binding("a", "b", "Role/r", &[]);
    fill_in(&mut old);
    check(&binding("a", "b", "Role/r", &["User/ann"]), Some(&old), &[]);
    let error = "roleRef: Invalid value: {\"apiGroup\":\"rbac.authorization.k8s.io\",\"kind\":\"Role\",\"name\":\"s\"}: \
                 cannot change roleRef";
    check(&binding("a", "b", "Role/s", &[]), Some(&old), &[error]);
}

#[test]
fn the_default_roles_are_valid() {
    for object in super::super::defaults() {
        check(&object, None, &[]);
    }
}

#[test]
fn malformed_objects_do_not_panic() {
    for object in
        [json!({"kind": "RoleBinding", "roleRef": 1, "subjects": [1, null]}), json!(null), json!([])]
    {
        let mut object = object;
        fill_in(&mut object);
        let _ = validate(&object, Some(&json!(7)));
    }
}
