//! The requests that a hook is for.

use std::collections::BTreeMap;

use serde_json::{Value, json};

use crate::admission::{Operation, RequestRule, RuleInput};

/// Requests for which an [`Admission`](crate::Admission) is called in a webhook server: a rule of
/// its webhook configuration.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct AdmissionRule {
    groups: Vec<String>,
    versions: Vec<String>,
    resources: Vec<String>,
    operations: Vec<Operation>,
    scope: &'static str,
    labels: BTreeMap<String, String>,
}

/// A rule in the form that requests are matched against.
pub(super) struct RunnableRule {
    rule: RequestRule,
    labels: BTreeMap<String, String>,
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
            labels: BTreeMap::new(),
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

    /// Selects objects with a label only: `objectSelector` of the configuration. As there, the old
    /// or the new object must have it, so the write that removes it is still reviewed.
    #[must_use]
    pub fn labelled(mut self, key: impl Into<String>, value: impl Into<String>) -> Self {
        self.labels.insert(key.into(), value.into());
        self
    }

    pub(super) const fn labels(&self) -> &BTreeMap<String, String> {
        &self.labels
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

    pub(super) fn runnable(&self) -> RunnableRule {
        RunnableRule { rule: RequestRule::of(&self.value()), labels: self.labels.clone() }
    }
}

impl RunnableRule {
    /// Returns whether the rule selects a request with these objects, the new and the old one.
    pub(super) fn matches(&self, request: &RuleInput<'_>, objects: [Option<&Value>; 2]) -> bool {
        let has = |object: &Value| {
            self.labels.iter().all(|(key, value)| object["metadata"]["labels"][key] == **value)
        };
        self.rule.matches(request) && objects.into_iter().flatten().any(has)
    }
}
