//! RBAC roles: one per component, for our server and for any cluster.

use machinery::Component;

use super::agent_policy::agent_policy;
use super::definition::GROUP;

/// The user of the controllers.
pub const CONTROLLERS: &str = "kos-controllers";
/// The group of the node agents.
pub const AGENTS: &str = "kos-agents";

const READ: &[&str] = &["get", "list", "watch"];

/// Returns the controllers with their permissions.
#[must_use]
pub fn controllers() -> Component {
    Component::user(CONTROLLERS)
        .may(READ, GROUP, &["subnets", "networkattachments"])
        .may(&["get", "patch", "update"], GROUP, &["subnets/status", "networkattachments/status"])
        .may(&["get", "list", "watch", "create", "delete"], GROUP, &["iplocks"])
        .electing_leaders()
        .recording_events()
}

/// Returns the node agents with their permissions.
///
/// RBAC has no rule that limits an agent to the objects of its own node: see
/// [`AgentWrites`](super::AgentWrites) and [`agent_policy`].
#[must_use]
pub fn agents() -> Component {
    Component::group(AGENTS)
        // The finalizer; `update` here and below is for programs before `patch`.
        .may(&["get", "list", "watch", "patch", "update"], GROUP, &["networkattachments"])
        .may(&["get", "patch", "update"], GROUP, &["networkattachments/status"])
        .may(&["get", "list", "watch", "delete"], GROUP, &["probes"])
        .may(&["get", "patch", "update"], GROUP, &["probes/status"])
        .recording_events()
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
    let roles = [controllers(), agents()];
    for one in roles.iter().flat_map(Component::manifests).chain(agent_policy()) {
        file.push_str("---\n");
        file.push_str(&serde_saphyr::to_string(&one)?);
    }
    Ok(file)
}
