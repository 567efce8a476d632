//! Components of a control plane: programs with permissions of their own.

use serde_json::{Value, json};

/// The permissions of a component: a ClusterRole, bound to a user or a group.
///
/// ```
/// use machinery::Component;
///
/// let agents = Component::group("rack-agents")
///     .may(&["get", "list", "watch"], "example.com", &["racks"])
///     .may(&["get", "patch"], "example.com", &["racks/status"])
///     .recording_events();
/// let [role, binding] = agents.manifests();
/// assert_eq!(role["rules"][0]["resources"][0], "racks");
/// assert_eq!(binding["subjects"][0]["kind"], "Group");
/// ```
#[derive(Clone, Debug, PartialEq)]
pub struct Component {
    name: String,
    subject: &'static str,
    rules: Vec<Value>,
}

impl Component {
    fn new(name: &str, subject: &'static str) -> Self {
        Self { name: name.into(), subject, rules: Vec::new() }
    }

    /// A component with one identity: the user of this name. It may do nothing yet.
    #[must_use]
    pub fn user(name: &str) -> Self {
        Self::new(name, "User")
    }

    /// A component with several identities, such as the agents of nodes: all users in the group of
    /// this name.
    #[must_use]
    pub fn group(name: &str) -> Self {
        Self::new(name, "Group")
    }

    /// Permits verbs on resources of an API group; subresources are `hosts/status`.
    #[must_use]
    pub fn may(mut self, verbs: &[&str], group: &str, resources: &[&str]) -> Self {
        self.rules.push(json!({"apiGroups": [group], "resources": resources, "verbs": verbs}));
        self
    }

    /// Permits the writes of an event recorder.
    #[must_use]
    pub fn recording_events(self) -> Self {
        const WRITE: &[&str] = &["create", "patch", "update"];
        self.may(WRITE, "", &["events"]).may(WRITE, "events.k8s.io", &["events"])
    }

    /// Permits leader election by Leases.
    #[must_use]
    pub fn electing_leaders(self) -> Self {
        const LEAD: &[&str] = &["get", "list", "watch", "create", "update"];
        self.may(LEAD, "coordination.k8s.io", &["leases"])
    }

    /// Returns the name, which is that of the role and of the binding.
    #[must_use]
    pub fn name(&self) -> &str {
        &self.name
    }

    /// Returns the ClusterRole and its ClusterRoleBinding, also for clusters that are served by
    /// others.
    #[must_use]
    pub fn manifests(&self) -> [Value; 2] {
        const API: &str = "rbac.authorization.k8s.io";
        let Self { name, subject, rules } = self;
        let version = format!("{API}/v1");
        [
            json!({
                "apiVersion": version, "kind": "ClusterRole", "metadata": {"name": name}, "rules": rules,
            }),
            json!({
                "apiVersion": version, "kind": "ClusterRoleBinding", "metadata": {"name": name},
                "roleRef": {"apiGroup": API, "kind": "ClusterRole", "name": name},
                "subjects": [{"apiGroup": API, "kind": subject, "name": name}],
            }),
        ]
    }
}
