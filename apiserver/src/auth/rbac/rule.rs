//! One rule of a role.

use serde_json::{Map, Value};

use super::attributes::{RequestAttributes, RequestTarget, ResourceAttributes};
use crate::go_format::quote_all;

const ALL: &str = "*";

/// Verbs on resources or paths. A rule with both allows each part by itself.
#[derive(Clone, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct PolicyRule {
    pub(super) groups: Vec<String>,
    /// Plurals, `PLURAL/SUBRESOURCE`, `*/SUBRESOURCE`, or `*`, which includes subresources.
    pub(super) resources: Vec<String>,
    /// Paths; a trailing `*` matches any continuation.
    pub(super) paths: Vec<String>,
    /// Empty for all names.
    pub(super) names: Vec<String>,
    pub(super) verbs: Vec<String>,
}

impl PolicyRule {
    /// Parses a rule. A malformed one allows nothing.
    pub(super) fn read(rule: &Value) -> Option<Self> {
        let texts = |field: &str| match rule.get(field) {
            None | Some(Value::Null) => Some(Vec::new()),
            Some(Value::Array(texts)) => texts.iter().map(|text| text.as_str().map(str::to_owned)).collect(),
            Some(_) => None,
        };
        Some(Self {
            groups: texts("apiGroups")?,
            resources: texts("resources")?,
            paths: texts("nonResourceURLs")?,
            // Ignoring an unreadable `resourceNames` would extend the rule to all names.
            names: texts("resourceNames")?,
            verbs: texts("verbs")?,
        })
    }

    /// The rules of a role, in order.
    pub(super) fn read_all(role: &Value) -> impl Iterator<Item = Self> {
        role.get("rules").and_then(Value::as_array).into_iter().flatten().filter_map(Self::read)
    }

    pub(super) fn allows(&self, attributes: &RequestAttributes<'_>) -> bool {
        has(&self.verbs, attributes.verb)
            && match &attributes.on {
                RequestTarget::Path(path) => self.paths.iter().any(|pattern| path_matches(pattern, path)),
                RequestTarget::Resource(resource) => {
                    has(&self.groups, resource.group)
                        && self.is_for(resource)
                        && self.names_fit(resource.name)
                }
            }
    }

    /// Returns the rule as JSON, without empty fields.
    pub(super) fn to_json(&self) -> Value {
        let Self { groups, resources, paths, names, verbs } = self;
        let fields = [
            ("apiGroups", groups),
            ("resources", resources),
            ("nonResourceURLs", paths),
            ("resourceNames", names),
        ];
        let mut rule: Map<_, _> = fields
            .into_iter()
            .filter(|(_, texts)| !texts.is_empty())
            .map(|(field, texts)| (field.to_owned(), Value::from(texts.clone())))
            .collect();
        rule.insert("verbs".into(), verbs.clone().into());
        Value::Object(rule)
    }

    /// The resource and path parts, in the form of a review.
    pub(super) fn reviewed(&self) -> (Option<Value>, Option<Value>) {
        let resources = Self { paths: Vec::new(), ..self.clone() };
        let paths = Self { paths: self.paths.clone(), verbs: self.verbs.clone(), ..Self::default() };
        (
            (!self.resources.is_empty()).then(|| resources.to_json()),
            (!self.paths.is_empty()).then(|| paths.to_json()),
        )
    }

    /// The format of refusals: `{APIGroups:[""], Resources:["pods"], Verbs:["get"]}`.
    pub(super) fn shown(&self) -> String {
        let Self { groups, resources, paths, names, verbs } = self;
        let parts = [
            ("APIGroups", groups),
            ("Resources", resources),
            ("NonResourceURLs", paths),
            ("ResourceNames", names),
            ("Verbs", verbs),
        ];
        let parts: Vec<_> = parts
            .into_iter()
            .filter(|(_, texts)| !texts.is_empty())
            .map(|(name, texts)| format!("{name}:{}", quote_all(texts)))
            .collect();
        format!("{{{}}}", parts.join(", "))
    }

    fn is_for(&self, requested: &ResourceAttributes<'_>) -> bool {
        let (resource, subresource) = (requested.resource, requested.subresource);
        let whole = |of: &str| match subresource.is_empty() {
            true => of == resource,
            false => of.strip_prefix(resource).and_then(|rest| rest.strip_prefix('/')) == Some(subresource),
        };
        let everywhere = |of: &str| !subresource.is_empty() && of.strip_prefix("*/") == Some(subresource);
        self.resources.iter().any(|of| of == ALL || whole(of) || everywhere(of))
    }

    fn names_fit(&self, name: &str) -> bool {
        self.names.is_empty() || self.names.iter().any(|of| of == name)
    }
}

/// Returns whether `pattern` covers `path`, which may itself be a pattern.
pub(super) fn path_matches(pattern: &str, path: &str) -> bool {
    pattern == path || pattern.ends_with('*') && path.starts_with(pattern.trim_end_matches('*'))
}

/// Returns whether `of` holds `text` or `*`.
pub(super) fn has(of: &[String], text: &str) -> bool {
    of.iter().any(|it| it == ALL || it == text)
}
