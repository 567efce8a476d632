//! Parses audit policy files.

use serde::Deserialize;
use serde_json::Value;
use thiserror::Error;

use super::policy::{AuditLevel, AuditPolicy, AuditRule, AuditStage, GroupResources, Stages};
use crate::yaml;

/// The reason why a policy was rejected. No rule of a rejected policy applies.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
#[error("{place}: {why}")]
pub struct AuditPolicyError {
    /// Path of the invalid value: `rules[2].level`.
    pub place: String,
    /// The error, and a valid replacement.
    pub why: String,
}

impl AuditPolicy {
    /// Parses a `Policy` of `audit.k8s.io/v1`, in YAML or JSON.
    ///
    /// # Errors
    /// The text is not such a policy, or holds a field or value that the server would not apply.
    pub fn read(text: &str) -> Result<Self, AuditPolicyError> {
        let policy = yaml::read(text.as_bytes()).map_err(|error| wrong("the policy", &error.0))?;
        if let Some(twice) = policy.duplicates.first() {
            return Err(wrong(twice, "is there twice: leave one of them out"));
        }
        let File { api_version, kind, rules, omit_stages, omit_managed_fields, metadata: _ } =
            shaped("the policy", policy.value)?;
        if (api_version.as_str(), kind.as_str()) != ("audit.k8s.io/v1", "Policy") {
            let why =
                format!("it is {kind:?} of {api_version:?}: write kind: Policy, apiVersion: audit.k8s.io/v1");
            return Err(wrong("the policy", &why));
        }
        if rules.is_empty() {
            let why = "there are none, and so nothing would be logged: write one, as `- level: Metadata`";
            return Err(wrong("rules", why));
        }
        let rules = rules.into_iter().enumerate().map(|(at, rule)| read_rule(&format!("rules[{at}]"), rule));
        Ok(Self {
            rules: rules.collect::<Result<_, _>>()?,
            omit_stages: stages("omitStages", &omit_stages)?,
            omit_managed_fields,
        })
    }
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
struct File {
    #[serde(default)]
    api_version: String,
    #[serde(default)]
    kind: String,
    #[serde(default)]
    #[allow(dead_code, reason = "people name their policies")]
    metadata: Value,
    #[serde(default)]
    rules: Vec<Value>,
    #[serde(default)]
    omit_stages: Vec<String>,
    #[serde(default)]
    omit_managed_fields: bool,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
struct OneRule {
    #[serde(default)]
    level: String,
    #[serde(default)]
    users: Vec<String>,
    #[serde(default)]
    user_groups: Vec<String>,
    #[serde(default)]
    verbs: Vec<String>,
    #[serde(default)]
    resources: Vec<Value>,
    #[serde(default)]
    namespaces: Vec<String>,
    #[serde(default, rename = "nonResourceURLs")]
    paths: Vec<String>,
    #[serde(default)]
    omit_stages: Vec<String>,
    omit_managed_fields: Option<bool>,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
struct OneGroup {
    #[serde(default)]
    group: String,
    #[serde(default)]
    resources: Vec<String>,
    #[serde(default)]
    resource_names: Vec<String>,
}

fn read_rule(place: &str, rule: Value) -> Result<AuditRule, AuditPolicyError> {
    let rule: OneRule = shaped(place, rule)?;
    let level = AuditLevel::ALL.into_iter().find(|level| level.name() == rule.level).ok_or_else(|| {
        let why = format!("{:?} is no level: write None, Metadata, Request or RequestResponse", rule.level);
        wrong(&format!("{place}.level"), &why)
    })?;
    if !rule.paths.is_empty() && (!rule.resources.is_empty() || !rule.namespaces.is_empty()) {
        let why = "a request is for objects or for a path, never for both: write a rule for each";
        return Err(wrong(&format!("{place}.nonResourceURLs"), why));
    }
    for (at, path) in rule.paths.iter().enumerate() {
        let place = format!("{place}.nonResourceURLs[{at}]");
        if path != "*" && !path.starts_with('/') {
            return Err(wrong(
                &place,
                &format!("{path:?} is no path: begin it with a slash, or write \"*\""),
            ));
        }
        if path.strip_suffix('*').unwrap_or(path).contains('*') {
            return Err(wrong(&place, &format!("{path:?} has a star within: it can only be the end")));
        }
    }
    let group = |(at, group)| read_group(&format!("{place}.resources[{at}]"), group);
    Ok(AuditRule {
        level,
        users: rule.users,
        groups: rule.user_groups,
        verbs: rule.verbs,
        resources: rule.resources.into_iter().enumerate().map(group).collect::<Result<_, _>>()?,
        namespaces: rule.namespaces,
        paths: rule.paths,
        omit_stages: stages(&format!("{place}.omitStages"), &rule.omit_stages)?,
        omit_managed_fields: rule.omit_managed_fields,
    })
}

fn read_group(place: &str, group: Value) -> Result<GroupResources, AuditPolicyError> {
    let OneGroup { group, resources, resource_names: names } = shaped(place, group)?;
    if group.contains(['/', '*']) {
        let why = format!("{group:?} is no group: it has neither a version nor a star; \"\" is that of pods");
        return Err(wrong(&format!("{place}.group"), &why));
    }
    if resources.is_empty() && !names.is_empty() {
        let why = "names require resources: write resources, too";
        return Err(wrong(&format!("{place}.resourceNames"), why));
    }
    for (at, resource) in resources.iter().enumerate() {
        let fits = match resource.split_once('/') {
            None => is_word(resource) || resource == "*",
            Some(("*", below)) => is_word(below),
            Some((plural, below)) => is_word(plural) && (is_word(below) || below == "*"),
        };
        if !fits {
            let why = format!(
                "{resource:?} matches nothing: write RESOURCE, RESOURCE/SUBRESOURCE, RESOURCE/*, */SUBRESOURCE or *"
            );
            return Err(wrong(&format!("{place}.resources[{at}]"), &why));
        }
    }
    Ok(GroupResources { group, resources, names })
}

fn is_word(text: &str) -> bool {
    !text.is_empty() && !text.contains(['*', '/'])
}

fn stages(place: &str, names: &[String]) -> Result<Stages, AuditPolicyError> {
    names.iter().enumerate().try_fold(Stages::default(), |all, (at, name)| {
        let stage = AuditStage::ALL.into_iter().find(|stage| stage.name() == name).ok_or_else(|| {
            let why = format!(
                "{name:?} is no stage: write RequestReceived, ResponseStarted, ResponseComplete or Panic"
            );
            wrong(&format!("{place}[{at}]"), &why)
        })?;
        Ok(all.with(stage))
    })
}

fn shaped<T: serde::de::DeserializeOwned>(place: &str, value: Value) -> Result<T, AuditPolicyError> {
    serde_json::from_value(value).map_err(|error| wrong(place, &error.to_string()))
}

fn wrong(place: &str, why: &str) -> AuditPolicyError {
    AuditPolicyError { place: place.into(), why: why.into() }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn refused(text: &str, place: &str, advice: &str) {
        let text = format!("apiVersion: audit.k8s.io/v1\nkind: Policy\n{text}");
        let error = AuditPolicy::read(&text).unwrap_err();
        assert_eq!(error.place, place, "{error}");
        assert!(error.why.contains(advice), "{error}");
    }

    #[test]
    fn invalid_policies_are_rejected_with_advice() {
        refused("rules: []", "rules", "- level: Metadata");
        refused("rules: [{level: metadata}]", "rules[0].level", "write None, Metadata");
        refused("rules: [{level: None}, {verbs: [get]}]", "rules[1].level", "\"\" is no level");
        refused("rules: [{level: None, verb: get}]", "rules[0]", "unknown field `verb`");
        refused("rules: [{level: None}]\nomitStages: [Received]", "omitStages[0]", "RequestReceived");
        refused("rules: [{level: None, omitStages: [x]}]", "rules[0].omitStages[0]", "no stage");
        refused(
            "rules: [{level: None, namespaces: [a], nonResourceURLs: [/x]}]",
            "rules[0].nonResourceURLs",
            "for each",
        );
        refused("rules: [{level: None, nonResourceURLs: [x]}]", "rules[0].nonResourceURLs[0]", "slash");
        refused(
            "rules: [{level: None, nonResourceURLs: ['/a*b']}]",
            "rules[0].nonResourceURLs[0]",
            "the end",
        );
        refused(
            "rules: [{level: None, resources: [{group: apps/v1}]}]",
            "rules[0].resources[0].group",
            "version",
        );
        refused(
            "rules: [{level: None, resources: [{resourceNames: [x]}]}]",
            "rules[0].resources[0].resourceNames",
            "resources, too",
        );
        refused(
            "rules: [{level: None, resources: [{resources: ['po*']}]}]",
            "rules[0].resources[0].resources[0]",
            "RESOURCE/*",
        );
        refused("rules: [{level: None}]\nrules: [{level: Metadata}]", "rules", "twice");
        let other = AuditPolicy::read("apiVersion: v1\nkind: Policy\nrules: [{level: None}]").unwrap_err();
        assert!(other.why.contains("apiVersion: audit.k8s.io/v1"), "{other}");
        assert!(AuditPolicy::read("a: [").is_err());
        assert!(AuditPolicy::read("").is_err());
    }

    #[test]
    fn the_example_policy_of_the_guide_is_valid() {
        let example = include_str!("../../../docs/guides/audit-policy.yaml");
        assert!(AuditPolicy::read(example).unwrap().rules.len() > 3);
    }
}
