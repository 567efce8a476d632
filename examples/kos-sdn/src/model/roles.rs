//! RBAC roles: one per component, for our server and for any cluster.

use serde_json::{Value, json};

use super::kind::GROUP;

/// The user of the controllers.
pub const CONTROLLERS: &str = "kos-controllers";
/// The group of the node agents.
pub const AGENTS: &str = "kos-agents";

/// Returns the user of a node's agent.
#[must_use]
pub fn agent_of(node: &str) -> String {
    format!("kos-agent:{node}")
}

/// Returns the ClusterRoles and their bindings (`rbac.authorization.k8s.io/v1`).
///
/// RBAC has no rule that limits an agent to the attachments of its own node.
#[must_use]
pub fn roles() -> Vec<Value> {
    let read = json!(["get", "list", "watch"]);
    let events = [
        rule("", &["events"], &json!(["create", "patch", "update"])),
        rule("events.k8s.io", &["events"], &json!(["create", "patch", "update"])),
    ];
    let controllers = [
        rule(GROUP, &["subnets", "networkattachments"], &read),
        rule(GROUP, &["subnets/status", "networkattachments/status"], &json!(["get", "update"])),
        rule(GROUP, &["iplocks"], &json!(["get", "list", "watch", "create", "delete"])),
        rule("coordination.k8s.io", &["leases"], &json!(["get", "list", "watch", "create", "update"])),
    ];
    let agents = [
        // `update` is for the finalizer.
        rule(GROUP, &["networkattachments"], &json!(["get", "list", "watch", "update"])),
        rule(GROUP, &["networkattachments/status"], &json!(["get", "update"])),
        rule(GROUP, &["probes"], &json!(["get", "list", "watch", "delete"])),
        rule(GROUP, &["probes/status"], &json!(["get", "update"])),
    ];
    vec![
        role(CONTROLLERS, controllers.iter().chain(&events)),
        binding(CONTROLLERS, "User", CONTROLLERS),
        role(AGENTS, agents.iter().chain(&events)),
        binding(AGENTS, "Group", AGENTS),
    ]
}

/// Returns the roles as YAML.
///
/// # Errors
/// Serialization fails.
pub fn role_manifests() -> Result<String, serde_saphyr::ser_error::Error> {
    let mut file = String::from(
        "# Made by `kos roles`. On a cluster, name the ServiceAccounts of the components as subjects.\n",
    );
    for one in &roles() {
        file.push_str("---\n");
        file.push_str(&serde_saphyr::to_string(one)?);
    }
    Ok(file)
}

fn rule(group: &str, resources: &[&str], verbs: &Value) -> Value {
    json!({"apiGroups": [group], "resources": resources, "verbs": verbs})
}

fn role<'a>(name: &str, rules: impl Iterator<Item = &'a Value>) -> Value {
    json!({
        "apiVersion": "rbac.authorization.k8s.io/v1", "kind": "ClusterRole",
        "metadata": {"name": name}, "rules": rules.collect::<Vec<_>>(),
    })
}

fn binding(name: &str, kind: &str, subject: &str) -> Value {
    json!({
        "apiVersion": "rbac.authorization.k8s.io/v1", "kind": "ClusterRoleBinding",
        "metadata": {"name": name},
        "roleRef": {"apiGroup": "rbac.authorization.k8s.io", "kind": "ClusterRole", "name": name},
        "subjects": [{"apiGroup": "rbac.authorization.k8s.io", "kind": kind, "name": subject}],
    })
}
