//! The hooks of a kind, as a webhook has them.

use std::sync::Arc;

use jiff::Timestamp;
use serde_json::Value;

use super::WebhookServerError;
use super::rule::AdmissionRule;
use crate::invalid::invalid;
use crate::kind::{KindHooks, Subresource};
use crate::own::Own;
use crate::refusal::Refusal;
use crate::strategy::meta_text;

/// The hooks of one kind.
pub(super) struct HookedKind {
    group: String,
    version: String,
    plural: String,
    kind: String,
    is_namespaced: bool,
    /// Whether `status` is a subresource, whose values in other writes an API server ignores.
    has_status: bool,
    hooks: Arc<dyn KindHooks>,
}

impl HookedKind {
    /// Reads the names from the definition.
    ///
    /// # Errors
    /// The definition lacks a name or a version.
    pub(super) fn of(own: Own) -> Result<Self, WebhookServerError> {
        let Own { definition, hooks, wrong } = own;
        if let Some(why) = wrong {
            let name = meta_text(&definition, "name").to_owned();
            return Err(WebhookServerError::Hook { name, why });
        }
        let spec = &definition["spec"];
        let text = |value: &Value| value.as_str().unwrap_or_default().to_owned();
        let version = spec["versions"].as_array().and_then(|versions| versions.first());
        let kind = Self {
            group: text(&spec["group"]),
            version: version.map(|version| text(&version["name"])).unwrap_or_default(),
            plural: text(&spec["names"]["plural"]),
            kind: text(&spec["names"]["kind"]),
            is_namespaced: spec["scope"] != "Cluster",
            has_status: version.is_some_and(|version| version["subresources"].get("status").is_some()),
            hooks,
        };
        if [&kind.version, &kind.plural, &kind.kind].iter().any(|text| text.is_empty()) {
            let name = meta_text(&definition, "name").to_owned();
            let why = "its definition needs a plural, a kind and a version: see KindOf::defined".into();
            return Err(WebhookServerError::Hook { name, why });
        }
        Ok(kind)
    }

    pub(super) fn is_of(&self, group: &str, plural: &str) -> bool {
        self.group == group && self.plural == plural
    }

    pub(super) fn rule(&self) -> AdmissionRule {
        AdmissionRule::new(&self.group, &self.version, &self.plural).namespaced(self.is_namespaced)
    }

    /// Applies defaults and stamps to a created or updated object.
    ///
    /// Kubernetes ignores the changes of a webhook to the status, if it is a subresource: a new
    /// object gets none, and an existing one keeps its own, byte for byte.
    pub(super) fn mutate(&self, sent: &Value, old: Option<&Value>, now: Timestamp) -> Value {
        let mut new = sent.clone();
        let status = old.and_then(|old| old.get("status"));
        if self.has_status {
            put(&mut new, "status", status);
        }
        self.hooks.default(&mut new);
        if !self.has_status {
            match old {
                None => self.hooks.creating(&mut new),
                Some(old) => self.hooks.updating(&mut new, old, Subresource::Main),
            }
        }
        self.hooks.stamp(&mut new, old, now);
        if self.has_status {
            put(&mut new, "status", status);
        }
        new
    }

    /// Validates an object that the schema has accepted.
    pub(super) fn validate(&self, new: &Value, old: Option<&Value>) -> Result<(), Refusal> {
        let wrong = self.hooks.check(new, old);
        match wrong.is_empty() {
            true => Ok(()),
            false => Err(invalid(&self.group, &self.kind, meta_text(new, "name"), &wrong)),
        }
    }
}

fn put(object: &mut Value, field: &str, value: Option<&Value>) {
    let Some(object) = object.as_object_mut() else { return };
    match value {
        Some(value) => drop(object.insert(field.into(), value.clone())),
        None => drop(object.remove(field)),
    }
}
