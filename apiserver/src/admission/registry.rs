//! The admission plugins and webhooks of a server.

use std::sync::Arc;

use machinery_sync::Swap;
use serde_json::Value;

use super::call::{WebhookClients, WebhookTransport};
use super::webhook::Webhooks;
use super::{Admission, AdmissionNotes};

/// In-process admission and webhooks.
pub(crate) struct AdmissionRegistry {
    pub(super) own: Vec<Arc<dyn Admission>>,
    pub(super) webhooks: Swap<Webhooks>,
    callers: WebhookClients,
    /// Held while configurations are read and compiled.
    pub(crate) compiling: tokio::sync::Mutex<()>,
}

impl AdmissionRegistry {
    pub(crate) fn new(own: Vec<Arc<dyn Admission>>, transport: WebhookTransport) -> Self {
        let webhooks = Swap::new(Arc::new(Webhooks::default()));
        Self {
            own,
            webhooks,
            callers: WebhookClients::new(transport),
            compiling: tokio::sync::Mutex::default(),
        }
    }

    /// Replaces the webhooks by those of these configurations.
    pub(crate) fn replace(&self, mutating: Vec<Value>, validating: Vec<Value>) {
        self.webhooks.swap(Arc::new(Webhooks::of(mutating, validating, &self.callers)));
    }
}

impl AdmissionNotes<'_> {
    /// Returns the request's options for AdmissionReviews. A patch has update options.
    pub(super) fn options(&self, of_operation: &str) -> Value {
        if let Some(options) = self.options.get() {
            return options.clone();
        }
        let mut options = serde_json::json!({"kind": of_operation, "apiVersion": "meta.k8s.io/v1"});
        let Some(wire) = self.wire else { return options };
        for field in ["fieldManager", "fieldValidation"] {
            if let Some(text) = wire.query.first(field).filter(|text| !text.is_empty()) {
                options[field] = text.into();
            }
        }
        let dry_run: Vec<&str> = wire.query.all("dryRun").filter(|text| !text.is_empty()).collect();
        if !dry_run.is_empty() {
            options["dryRun"] = dry_run.into();
        }
        options
    }
}
