//! The webhooks of a theme: their configurations and replies. Both servers have the same.

use std::collections::BTreeMap;

use serde::Deserialize;
use serde_json::{Map, Value, json};

use super::Result;
use super::case::{home, yaml};
use super::expand::Names;

/// The contents of `hooks.yaml`.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Hooks {
    mutating: Vec<WebhookSpec>,
    validating: Vec<WebhookSpec>,
    /// The replies, by name: a response of a review, fields of the review, or bytes; late,
    /// redirected or missing.
    pub(crate) replies: BTreeMap<String, Value>,
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct WebhookSpec {
    name: String,
    /// The value of the label.
    of: Option<String>,
    reply: Option<String>,
    #[serde(default)]
    set: Map<String, Value>,
}

/// Placeholders in configurations for the address of the webhooks and their authority.
pub(crate) const HOOK: &str = "HOOK";
pub(crate) const BUNDLE: &str = "BUNDLE";

impl Hooks {
    pub(crate) fn read() -> Result<Self> {
        let read = yaml(&home().join("hooks.yaml"))?;
        Ok(serde_json::from_value(Names::default().expand_in(&read)?)?)
    }

    /// One configuration of all mutating webhooks, and one of all validating ones.
    pub(crate) fn configurations(&self) -> [Value; 2] {
        [
            ("MutatingWebhookConfiguration", "mutating", &self.mutating),
            ("ValidatingWebhookConfiguration", "validating", &self.validating),
        ]
        .map(|(kind, name, hooks)| {
            let webhooks: Vec<_> = hooks.iter().map(|hook| hook.webhook(name == "mutating")).collect();
            json!({
                "apiVersion": "admissionregistration.k8s.io/v1", "kind": kind, "metadata": {"name": name},
                "webhooks": webhooks,
            })
        })
    }

    /// All of it, as JSON for another program.
    pub(crate) fn told(&self) -> Value {
        let [mutating, validating] = self.configurations();
        json!({"mutating": [mutating], "validating": [validating], "replies": self.replies})
    }
}

impl WebhookSpec {
    /// All defaults are explicit: the genuine plugins run without defaulting.
    fn webhook(&self, mutates: bool) -> Value {
        let reply = self.reply.as_ref().unwrap_or(&self.name);
        let mut webhook = json!({
            "name": format!("{}.example.com", self.name),
            "admissionReviewVersions": ["v1"],
            "sideEffects": "None",
            "timeoutSeconds": 10,
            "failurePolicy": "Fail",
            "matchPolicy": "Equivalent",
            "namespaceSelector": {},
            "objectSelector": {"matchLabels": {"hook": self.of.as_ref().unwrap_or(&self.name)}},
            "clientConfig": {"url": format!("{HOOK}/{reply}"), "caBundle": BUNDLE},
            "rules": [{
                "operations": ["*"], "apiGroups": ["test.example.com"], "apiVersions": ["*"],
                "resources": ["widgets", "widgets/*"], "scope": "*",
            }],
        });
        if mutates {
            webhook["reinvocationPolicy"] = "Never".into();
        }
        for (field, value) in &self.set {
            webhook[field] = value.clone();
        }
        webhook
    }
}
