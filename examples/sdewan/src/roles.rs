//! RBAC roles: one per component, for our server and for any cluster; and the namespace of the
//! components.

use machinery::Component;
use machinery::k8s_openapi::api::core::v1::Namespace;
use machinery::kube_core::ObjectMeta;

use crate::model::SdewanKind;
use crate::model::names::{GROUP, PAGE_GROUP};

/// The user of the agent.
pub const AGENT_USER: &str = "sdewan-agent";
/// The user of the webhook.
pub const WEBHOOK_USER: &str = "sdewan-webhook";
/// The user of the runner.
pub const RUNNER_USER: &str = "sdewan-runner";

/// The namespace of the components' own objects, such as the Lease of the agent.
pub const SYSTEM_NAMESPACE: &str = "sdewan-system";

const READ: &[&str] = &["get", "list", "watch"];
const WRITE: &[&str] = &["get", "list", "watch", "create", "update", "patch", "delete"];

/// Returns the namespace of the components' own objects.
#[must_use]
pub fn system_namespace() -> Namespace {
    let metadata = ObjectMeta { name: Some(SYSTEM_NAMESPACE.to_owned()), ..ObjectMeta::default() };
    Namespace { metadata, ..Namespace::default() }
}

/// Returns the components with their permissions.
#[must_use]
pub fn components() -> [Component; 3] {
    [agent(), webhook(), runner()]
}

/// Returns the agent: it writes the kinds and their statuses, reads CNFs, and keeps the names that
/// it wrote over v1 in Secrets.
#[must_use]
pub fn agent() -> Component {
    let kinds: Vec<&str> = SdewanKind::all_served().map(|resource| resource.kind.plural).collect();
    let statuses: Vec<String> = kinds.iter().map(|plural| format!("{plural}/status")).collect();
    let statuses: Vec<&str> = statuses.iter().map(String::as_str).collect();
    let of_group = |component: Component, group: &str| {
        component.may(WRITE, group, &kinds).may(&["get", "update", "patch"], group, &statuses)
    };
    let agent = [GROUP, PAGE_GROUP].into_iter().fold(Component::user(AGENT_USER), of_group);
    agent
        .may(READ, "apps", &["deployments", "replicasets"])
        .may(READ, "", &["pods", "services", "namespaces"])
        .may(WRITE, "", &["secrets"])
        .may(READ, "apiextensions.k8s.io", &["customresourcedefinitions"])
        .electing_leaders()
        .recording_events()
}

/// Returns the webhook: it reads the objects that it decides by.
#[must_use]
pub fn webhook() -> Component {
    let kinds: Vec<&str> = SdewanKind::all_served().map(|resource| resource.kind.plural).collect();
    let roles = ["roles", "rolebindings", "clusterroles", "clusterrolebindings"];
    [GROUP, PAGE_GROUP]
        .into_iter()
        .fold(Component::user(WEBHOOK_USER), |component, group| component.may(READ, group, &kinds))
        .may(READ, "apps", &["deployments"])
        .may(READ, "", &["namespaces"])
        .may(READ, "rbac.authorization.k8s.io", &roles)
}

/// Returns the runner: Deployment controller and kubelet.
#[must_use]
pub fn runner() -> Component {
    const STATUS: &[&str] = &["get", "update", "patch"];
    Component::user(RUNNER_USER)
        .may(READ, "apps", &["deployments"])
        .may(STATUS, "apps", &["deployments/status", "replicasets/status"])
        .may(WRITE, "apps", &["replicasets"])
        .may(WRITE, "", &["pods"])
        .may(STATUS, "", &["pods/status"])
        .may(READ, "", &["nodes", "secrets"])
        .recording_events()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_agent_may_read_replica_sets_and_secrets() {
        let [role, _] = agent().manifests();
        let text = role.to_string();
        for needed in ["replicasets", "secrets", "mwan3rules/status", "leases", "events"] {
            assert!(text.contains(&format!("\"{needed}\"")), "{needed}");
        }
    }

    #[test]
    fn the_runner_may_not_write_deployments_or_secrets() {
        let [role, _] = runner().manifests();
        for rule in role["rules"].as_array().unwrap() {
            let has = |list: &str, word: &str| rule[list].as_array().unwrap().iter().any(|one| one == word);
            if has("resources", "deployments") || has("resources", "secrets") {
                assert!(!has("verbs", "update") && !has("verbs", "create"), "{rule}");
            }
        }
    }
}
