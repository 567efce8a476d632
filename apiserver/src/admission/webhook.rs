//! Compiled webhooks.

use std::sync::Arc;
use std::time::Duration;

use machinery_objects::LabelSelector;
use serde_json::Value;

use super::call::{WebhookClient, WebhookClients};
use super::conditions::Conditions;
use super::matching::WebhookRule;
use crate::auth::rbac::selector;
use crate::strategy::meta_text;

/// All webhooks of a server.
#[derive(Default)]
pub(crate) struct Webhooks {
    /// In call order: by name of the configuration, then by position.
    pub(super) mutating: Vec<Webhook>,
    pub(super) validating: Vec<Webhook>,
}

/// One webhook.
pub(super) struct Webhook {
    /// The name of its configuration.
    pub(super) configuration: String,
    pub(super) name: String,
    pub(super) rules: Vec<WebhookRule>,
    pub(super) namespaces: LabelSelector,
    pub(super) objects: LabelSelector,
    pub(super) conditions: Conditions,
    /// `matchPolicy: Exact`.
    pub(super) is_exact: bool,
    /// `failurePolicy: Ignore`.
    pub(super) fails_open: bool,
    /// `reinvocationPolicy: IfNeeded`.
    pub(super) if_needed: bool,
    /// Whether it may be called for a dry run.
    pub(super) supports_dry_run: bool,
    pub(super) timeout: Duration,
    /// Its client, or the reason that it cannot be called.
    pub(super) caller: Result<Arc<WebhookClient>, String>,
}

impl Webhooks {
    pub(super) fn is_empty(&self) -> bool {
        self.mutating.is_empty() && self.validating.is_empty()
    }

    /// Compiles configurations. Clients with an unchanged `clientConfig` keep their connections.
    pub(crate) fn of(mutating: Vec<Value>, validating: Vec<Value>, callers: &WebhookClients) -> Self {
        let all = |mut configurations: Vec<Value>| {
            configurations.sort_by(|a, b| meta_text(a, "name").cmp(meta_text(b, "name")));
            let of = |configuration: &Value| {
                let webhooks = configuration["webhooks"].as_array().into_iter().flatten();
                let name = meta_text(configuration, "name");
                webhooks.map(|webhook| Webhook::of(name, webhook, callers)).collect::<Vec<_>>()
            };
            configurations.iter().flat_map(of).collect()
        };
        Self { mutating: all(mutating), validating: all(validating) }
    }
}

impl Webhook {
    fn of(configuration: &str, webhook: &Value, callers: &WebhookClients) -> Self {
        let (namespaces, objects) =
            (of_field(webhook, "namespaceSelector"), of_field(webhook, "objectSelector"));
        let conditions = Conditions::of(webhook);
        // Other servers of the store may write such configurations; none is applied partially.
        let unread = match (&conditions, &namespaces, &objects) {
            (Err(why), ..) => Some(format!("it has a condition that this server cannot evaluate: {why}")),
            (_, Some(_), Some(_)) => None,
            _ => Some("it has a selector that cannot be read".to_owned()),
        };
        let rules = webhook["rules"].as_array().into_iter().flatten();
        let seconds = webhook["timeoutSeconds"].as_u64().unwrap_or(10).clamp(1, 30);
        Self {
            configuration: configuration.to_owned(),
            name: webhook["name"].as_str().unwrap_or_default().to_owned(),
            rules: rules.map(WebhookRule::of).collect(),
            namespaces: namespaces.unwrap_or_default(),
            objects: objects.unwrap_or_default(),
            conditions: conditions.unwrap_or_default(),
            is_exact: webhook["matchPolicy"] == "Exact",
            fails_open: webhook["failurePolicy"] == "Ignore",
            if_needed: webhook["reinvocationPolicy"] == "IfNeeded",
            supports_dry_run: matches!(webhook["sideEffects"].as_str(), Some("None" | "NoneOnDryRun")),
            timeout: Duration::from_secs(seconds),
            caller: unread.map_or_else(|| Ok(callers.of(&webhook["clientConfig"])), Err),
        }
    }
}

/// Returns a selector; a missing one selects everything.
fn of_field(webhook: &Value, field: &str) -> Option<LabelSelector> {
    match webhook.get(field).filter(|value| !value.is_null()) {
        Some(value) => selector(value),
        None => Some(LabelSelector::default()),
    }
}
