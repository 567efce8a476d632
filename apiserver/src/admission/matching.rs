//! Matches requests against rules and selectors of webhooks.

use std::sync::Arc;

use machinery_objects::LabelSelector;
use serde_json::Value;

use super::Operation;
use crate::kind::Kind;

/// The attributes that rules match.
#[derive(Clone, Copy, Debug)]
pub(crate) struct RuleInput<'a> {
    pub(crate) operation: Operation,
    pub(crate) group: &'a str,
    pub(crate) version: &'a str,
    pub(crate) resource: &'a str,
    pub(crate) subresource: &'a str,
    /// Whether the object is namespaced; false for a namespace.
    pub(crate) is_in_namespace: bool,
}

/// A rule of a webhook.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct WebhookRule {
    operations: Vec<String>,
    groups: Vec<String>,
    versions: Vec<String>,
    resources: Vec<String>,
    scope: RuleScope,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum RuleScope {
    All,
    Cluster,
    Namespaced,
}

impl WebhookRule {
    pub(super) fn of(rule: &Value) -> Self {
        let texts = |field: &str| {
            let texts = rule[field].as_array().into_iter().flatten();
            texts.filter_map(Value::as_str).map(str::to_owned).collect()
        };
        Self {
            operations: texts("operations"),
            groups: texts("apiGroups"),
            versions: texts("apiVersions"),
            resources: texts("resources"),
            scope: match rule["scope"].as_str() {
                Some("Cluster") => RuleScope::Cluster,
                Some("Namespaced") => RuleScope::Namespaced,
                _ => RuleScope::All,
            },
        }
    }

    pub(super) fn matches(&self, about: &RuleInput<'_>) -> bool {
        let has = |said: &[String], wanted: &str| said.iter().any(|one| one == "*" || one == wanted);
        let scope = match self.scope {
            RuleScope::All => true,
            RuleScope::Cluster => !about.is_in_namespace,
            RuleScope::Namespaced => about.is_in_namespace,
        };
        let resource = |said: &String| {
            let (resource, sub) = said.split_once('/').unwrap_or((said, ""));
            (resource == "*" || resource == about.resource) && (sub == "*" || sub == about.subresource)
        };
        scope
            && has(&self.operations, about.operation.name())
            && has(&self.groups, about.group)
            && has(&self.versions, about.version)
            && self.resources.iter().any(resource)
    }
}

/// A rule that selects requests in one version of each kind.
#[cfg(feature = "webhook")]
pub(crate) struct RequestRule(WebhookRule);

#[cfg(feature = "webhook")]
impl RequestRule {
    pub(crate) fn of(rule: &Value) -> Self {
        Self(WebhookRule::of(rule))
    }

    pub(crate) fn matches(&self, about: &RuleInput<'_>) -> bool {
        self.0.matches(about)
    }
}

/// The version of the objects in an AdmissionReview.
#[derive(Clone)]
pub(super) enum ReviewVersion {
    /// The version of the request.
    Itself,
    /// An equivalent version of the same objects.
    Other(Arc<Kind>),
}

/// Returns the version that a rule matches: that of the request or, unless `matchPolicy` is
/// `Exact`, an equivalent one.
pub(super) fn matched(
    rules: &[WebhookRule],
    is_exact: bool,
    about: &RuleInput<'_>,
    others: &[Arc<Kind>],
) -> Option<ReviewVersion> {
    if rules.iter().any(|rule| rule.matches(about)) {
        return Some(ReviewVersion::Itself);
    }
    let others = if is_exact { &[] } else { others };
    // Earlier rules take precedence.
    let found = rules.iter().find_map(|rule| {
        others.iter().find(|other| {
            let (group, version, resource) = (&*other.group, &*other.version, other.names.plural.as_str());
            rule.matches(&RuleInput { group, version, resource, ..*about })
        })
    });
    found.map(|other| ReviewVersion::Other(other.clone()))
}

/// Returns whether a selector matches one of two objects. An empty selector matches missing
/// objects, too.
pub(super) fn selects(selector: &LabelSelector, objects: [Option<&Value>; 2]) -> bool {
    let labels = |object: &Value| {
        let labels = object.pointer("/metadata/labels").cloned().unwrap_or_default();
        selector.matches_by(|key| labels.get(key)?.as_str())
    };
    selector.is_everything() || objects.into_iter().flatten().any(labels)
}

#[cfg(test)]
mod tests;
