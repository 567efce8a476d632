//! The roles and bindings of a new server.
//!
//! They have the names of Kubernetes, so that its manuals and charts apply: `cluster-admin` has all
//! permissions; `admin`, `edit` and `view` are for a RoleBinding in a namespace and aggregate roles
//! labelled `rbac.authorization.k8s.io/aggregate-to-edit: "true"` and so on, which is how custom
//! resources are added.

use serde_json::{Map, Value, json};

use super::GROUP;
use crate::auth::identity::{AUTHENTICATED, MASTERS, UNAUTHENTICATED};

const READ: &[&str] = &["get", "list", "watch"];
const WRITE: &[&str] = &["create", "update", "patch", "delete", "deletecollection"];
const ALL: &[&str] = &["*"];

/// Resources that users of a namespace read and write.
const OBJECTS: &[(&str, &[&str])] = &[
    ("", &["configmaps", "endpoints", "persistentvolumeclaims", "pods", "replicationcontrollers"]),
    ("", &["replicationcontrollers/scale", "serviceaccounts", "services"]),
    ("apps", &["controllerrevisions", "daemonsets", "deployments", "deployments/scale", "replicasets"]),
    ("apps", &["replicasets/scale", "statefulsets", "statefulsets/scale"]),
    ("autoscaling", &["horizontalpodautoscalers"]),
    ("batch", &["cronjobs", "jobs"]),
    ("coordination.k8s.io", &["leases"]),
    ("discovery.k8s.io", &["endpointslices"]),
    ("networking.k8s.io", &["ingresses", "networkpolicies"]),
    ("policy", &["poddisruptionbudgets"]),
];

/// Resources that they read only.
const SEEN: &[(&str, &[&str])] = &[
    (
        "",
        &["bindings", "events", "limitranges", "namespaces", "namespaces/status", "pods/log", "pods/status"],
    ),
    ("", &["persistentvolumeclaims/status", "replicationcontrollers/status", "resourcequotas"]),
    ("", &["resourcequotas/status", "services/status"]),
    ("apps", &["daemonsets/status", "deployments/status", "replicasets/status", "statefulsets/status"]),
    ("autoscaling", &["horizontalpodautoscalers/status"]),
    ("batch", &["cronjobs/status", "jobs/status"]),
    ("events.k8s.io", &["events"]),
    ("networking.k8s.io", &["ingresses/status"]),
    ("policy", &["poddisruptionbudgets/status"]),
];

/// Returns the ClusterRoles, then the ClusterRoleBindings. Each has the annotation by which
/// Kubernetes marks objects that a new server version may update.
pub(crate) fn defaults() -> Vec<Value> {
    let view = rules(READ, OBJECTS).chain(rules(READ, SEEN)).collect();
    let mut edit: Vec<_> = rules(WRITE, OBJECTS).collect();
    edit.extend([
        rule(&[READ, WRITE].concat(), "", &["secrets"]),
        rule(WRITE, "", &["events"]),
        rule(WRITE, "events.k8s.io", &["events"]),
        rule(&["create"], "", &["serviceaccounts/token", "pods/eviction"]),
        rule(&["impersonate"], "", &["serviceaccounts"]),
    ]);
    let admin = vec![
        rule(&["create"], "authorization.k8s.io", &["localsubjectaccessreviews"]),
        rule(&[READ, WRITE].concat(), GROUP, &["roles", "rolebindings"]),
    ];
    let discovery = ["/api", "/api/*", "/apis", "/apis/*", "/openapi", "/openapi/*"];
    let health = ["/healthz", "/livez", "/readyz", "/version", "/version/"];
    let monitoring =
        ["/healthz", "/healthz/*", "/livez", "/livez/*", "/metrics", "/metrics/slis", "/readyz", "/readyz/*"];
    let authorization = ["selfsubjectaccessreviews", "selfsubjectrulesreviews"];
    vec![
        role("cluster-admin", &[], vec![rule(ALL, "*", ALL), paths(ALL, ALL)]),
        gathering("admin", &[]),
        gathering("edit", &["admin"]),
        gathering("view", &["edit"]),
        role("system:aggregate-to-admin", &["admin"], admin),
        role("system:aggregate-to-edit", &["edit"], edit),
        role("system:aggregate-to-view", &["view"], view),
        role("system:discovery", &[], vec![paths(&["get"], &[&discovery[..], &health].concat())]),
        role("system:public-info-viewer", &[], vec![paths(&["get"], &health)]),
        role(
            "system:basic-user",
            &[],
            vec![
                rule(&["create"], "authorization.k8s.io", &authorization),
                rule(&["create"], "authentication.k8s.io", &["selfsubjectreviews"]),
            ],
        ),
        role("system:monitoring", &[], vec![paths(&["get"], &monitoring)]),
        role(
            "system:auth-delegator",
            &[],
            vec![
                rule(&["create"], "authentication.k8s.io", &["tokenreviews"]),
                rule(&["create"], "authorization.k8s.io", &["subjectaccessreviews"]),
            ],
        ),
        binding("cluster-admin", &[MASTERS]),
        binding("system:discovery", &[AUTHENTICATED]),
        binding("system:monitoring", &["system:monitoring"]),
        binding("system:basic-user", &[AUTHENTICATED]),
        binding("system:public-info-viewer", &[AUTHENTICATED, UNAUTHENTICATED]),
    ]
}

fn rules<'a>(verbs: &'a [&str], on: &'a [(&str, &[&str])]) -> impl Iterator<Item = Value> + 'a {
    on.iter().map(|(group, resources)| rule(verbs, group, resources))
}

fn rule(verbs: &[&str], group: &str, resources: &[&str]) -> Value {
    json!({"verbs": verbs, "apiGroups": [group], "resources": resources})
}

fn paths(verbs: &[&str], paths: &[&str]) -> Value {
    json!({"verbs": verbs, "nonResourceURLs": paths})
}

fn role(name: &str, part_of: &[&str], rules: Vec<Value>) -> Value {
    json!({
        "apiVersion": format!("{GROUP}/v1"), "kind": "ClusterRole", "metadata": metadata(name, part_of),
        "rules": rules,
    })
}

/// An aggregated role; the controller fills in its rules.
fn gathering(name: &str, part_of: &[&str]) -> Value {
    let mut role = role(name, part_of, Vec::new());
    role["aggregationRule"] = json!({"clusterRoleSelectors": [{"matchLabels": {label(name): "true"}}]});
    role
}

fn binding(role: &str, groups: &[&str]) -> Value {
    let subject = |group: &&str| json!({"apiGroup": GROUP, "kind": "Group", "name": group});
    json!({
        "apiVersion": format!("{GROUP}/v1"), "kind": "ClusterRoleBinding", "metadata": metadata(role, &[]),
        "roleRef": {"apiGroup": GROUP, "kind": "ClusterRole", "name": role},
        "subjects": groups.iter().map(subject).collect::<Vec<_>>(),
    })
}

fn metadata(name: &str, part_of: &[&str]) -> Value {
    let mut labels = Map::from_iter([("kubernetes.io/bootstrapping".to_owned(), "rbac-defaults".into())]);
    labels.extend(part_of.iter().map(|whole| (label(whole), "true".into())));
    let annotations = json!({"rbac.authorization.kubernetes.io/autoupdate": "true"});
    json!({"name": name, "labels": labels, "annotations": annotations})
}

fn label(whole: &str) -> String {
    format!("{GROUP}/aggregate-to-{whole}")
}
