//! The requests that a hook is for.

use serde_json::{Value, json};

use crate::admission::{Operation, RequestRules};

/// Requests for which an [`Admission`](crate::Admission) is called in a webhook server: a rule of
/// its webhook configuration.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct AdmissionRule {
    groups: Vec<String>,
    versions: Vec<String>,
    resources: Vec<String>,
    operations: Vec<Operation>,
    scope: &'static str,
}

impl AdmissionRule {
    /// Returns a rule for creations and updates of a resource, by its group (empty for the core
    /// group), version and plural; `*` stands for all. `deployments/status` is a subresource, and
    /// `deployments/*` all of them with the object itself.
    #[must_use]
    pub fn new(group: &str, version: &str, resource: &str) -> Self {
        Self {
            groups: vec![group.into()],
            versions: vec![version.into()],
            resources: vec![resource.into()],
            operations: vec![Operation::Create, Operation::Update],
            scope: "*",
        }
    }

    /// Returns a rule for creations and updates of a type of kube.
    #[cfg(feature = "k8s")]
    #[must_use]
    pub fn of<K: kube_core::Resource<DynamicType = ()>>() -> Self {
        Self::new(&K::group(&()), &K::version(&()), &K::plural(&()))
    }

    /// Adds a resource or subresource of the same group and version.
    #[must_use]
    pub fn resource(mut self, resource: impl Into<String>) -> Self {
        self.resources.push(resource.into());
        self
    }

    /// Sets the operations.
    #[must_use]
    pub fn operations(mut self, operations: impl IntoIterator<Item = Operation>) -> Self {
        self.operations = operations.into_iter().collect();
        self
    }

    pub(super) const fn namespaced(mut self, is_namespaced: bool) -> Self {
        self.scope = if is_namespaced { "Namespaced" } else { "Cluster" };
        self
    }

    /// Returns the rule without deletions, which cannot be mutated.
    pub(super) fn of_mutations(&self) -> Option<Self> {
        let operations: Vec<_> =
            self.operations.iter().copied().filter(|operation| *operation != Operation::Delete).collect();
        (!operations.is_empty()).then(|| Self { operations, ..self.clone() })
    }

    /// Returns the rule as a webhook configuration has it.
    pub(super) fn value(&self) -> Value {
        let operations: Vec<&str> = self.operations.iter().map(|operation| operation.name()).collect();
        json!({
            "apiGroups": self.groups, "apiVersions": self.versions, "resources": self.resources,
            "operations": operations, "scope": self.scope,
        })
    }

    pub(super) fn matcher(rules: &[Self]) -> RequestRules {
        RequestRules::of(rules.iter().map(Self::value))
    }
}
