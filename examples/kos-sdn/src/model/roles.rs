//! RBAC roles: one per component, for our server and for any cluster.

use serde_json::{Value, json};

use super::agent_policy::agent_policy;
use super::definition::GROUP;

/// The user of the controllers.
pub const CONTROLLERS: &str = "kos-controllers";
/// The group of the node agents.
pub const AGENTS: &str = "kos-agents";

/// Returns the ClusterRoles and their bindings (`rbac.authorization.k8s.io/v1`).
///
/// RBAC has no rule that limits an agent to the objects of its own node: see
/// [`AgentWrites`](super::AgentWrites) and [`agent_policy`].
#[must_use]
pub fn roles() -> Vec<Value> {
    let read = json!(["get", "list", "watch"]);
    let events = [
        rule("", &["events"], &json!(["create", "patch", "update"])),
        rule("events.k8s.io", &["events"], &json!(["create", "patch", "update"])),
    ];
    let controllers = [
        rule(GROUP, &["subnets", "networkattachments"], &read),
        rule(GROUP, &["subnets/status", "networkattachments/status"], &json!(["get", "patch", "update"])),
        rule(GROUP, &["iplocks"], &json!(["get", "list", "watch", "create", "delete"])),
        rule("coordination.k8s.io", &["leases"], &json!(["get", "list", "watch", "create", "update"])),
    ];
    let agents = [
        // The finalizer; `update` here and below is for programs before `patch`.
        rule(GROUP, &["networkattachments"], &json!(["get", "list", "watch", "patch", "update"])),
        rule(GROUP, &["networkattachments/status"], &json!(["get", "patch", "update"])),
        rule(GROUP, &["probes"], &json!(["get", "list", "watch", "delete"])),
        rule(GROUP, &["probes/status"], &json!(["get", "patch", "update"])),
    ];
    vec![
        role(CONTROLLERS, controllers.iter().chain(&events)),
        binding(CONTROLLERS, "User", CONTROLLERS),
        role(AGENTS, agents.iter().chain(&events)),
        binding(AGENTS, "Group", AGENTS),
    ]
}

/// Returns the roles, and the policy that limits agents to their node, as YAML.
///
/// # Errors
/// Serialization fails.
pub fn role_manifests() -> Result<String, serde_saphyr::ser_error::Error> {
    let mut file = String::from(
        "# Made by `kos roles`. On a cluster, name the ServiceAccount of the controllers as subject. An agent is\n\
         # the user kos-agent:NODE in the group kos-agents, for instance by a client certificate: the policy at\n\
         # the end takes its node from its name.\n",
    );
    for one in roles().iter().chain(&agent_policy()) {
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
