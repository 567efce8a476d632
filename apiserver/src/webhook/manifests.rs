//! Manifests of the webhook configurations, for clusters that are not ours.

use std::collections::BTreeMap;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use serde_json::{Value, json};

use super::WebhookServerError;
use super::hooks::{AdmissionHooks, ReviewPhase};

/// Seconds after which an API server gives up a call.
const TIMEOUT_SECONDS: u32 = 10;

/// The endpoint at which an API server calls a webhook server: `clientConfig` of a configuration.
#[derive(Clone, Debug, PartialEq, Eq)]
#[must_use]
pub struct WebhookEndpoint {
    target: EndpointTarget,
    ca: Option<String>,
}

#[derive(Clone, Debug, PartialEq, Eq)]
enum EndpointTarget {
    Service { namespace: String, name: String, port: u16 },
    Url(String),
}

impl WebhookEndpoint {
    /// A service of the cluster, on port 443. The certificate is for `NAME.NAMESPACE.svc`.
    pub fn service(namespace: impl Into<String>, name: impl Into<String>) -> Self {
        let target = EndpointTarget::Service { namespace: namespace.into(), name: name.into(), port: 443 };
        Self { target, ca: None }
    }

    /// A URL without a path: `https://host:9443`.
    pub fn url(url: impl Into<String>) -> Self {
        Self { target: EndpointTarget::Url(url.into()), ca: None }
    }

    /// Sets the port of the service.
    pub const fn port(mut self, number: u16) -> Self {
        if let EndpointTarget::Service { port, .. } = &mut self.target {
            *port = number;
        }
        self
    }

    /// Sets the certificates of the authorities of the server's certificate, in PEM. Before an
    /// authority is replaced, apply manifests with the old and the new one. Without any, the roots
    /// of the API server are used, or another program injects the bundle.
    pub fn ca_bundle(mut self, pem: impl Into<String>) -> Self {
        self.ca = Some(pem.into());
        self
    }

    fn client_config(&self, path: &str) -> Result<Value, WebhookServerError> {
        let refused = |why: String| Err(WebhookServerError::Endpoint(why));
        let mut config = match &self.target {
            EndpointTarget::Service { namespace, name, port } => json!({
                "service": {"namespace": namespace, "name": name, "port": port, "path": path},
            }),
            EndpointTarget::Url(url) => {
                let start = url.trim_end_matches('/');
                match start.strip_prefix("https://") {
                    Some(host) if !host.is_empty() && !host.contains(['/', '?', '#', '@']) => {
                        json!({"url": format!("{start}{path}")})
                    }
                    _ => return refused(format!("{url:?} is not of the form https://HOST:PORT")),
                }
            }
        };
        if let Some(pem) = &self.ca {
            if !pem.contains("-----BEGIN CERTIFICATE-----") {
                return refused("there is no certificate in the CA bundle; give it in PEM".into());
            }
            config["caBundle"] = STANDARD.encode(pem).into();
        }
        Ok(config)
    }
}

impl AdmissionHooks {
    /// Returns the `MutatingWebhookConfiguration` and the `ValidatingWebhookConfiguration` for a
    /// cluster, as YAML.
    ///
    /// `failurePolicy` is `Fail`: an object that was admitted without a check may be one that can
    /// never be repaired.
    ///
    /// # Errors
    /// A hook or the endpoint is invalid.
    pub fn manifests(self, endpoint: &WebhookEndpoint) -> Result<String, WebhookServerError> {
        let hooks = self.runnable()?;
        let mut file = format!("# The webhook configurations of {}. Generated.\n", hooks.name);
        for (kind, path, phase) in [
            ("MutatingWebhookConfiguration", "/mutate", ReviewPhase::Mutate),
            ("ValidatingWebhookConfiguration", "/validate", ReviewPhase::Validate),
        ] {
            // One webhook for each selector: a configuration has it per webhook.
            let mut by_labels: BTreeMap<BTreeMap<String, String>, Vec<Value>> = BTreeMap::new();
            for rule in hooks.rules(phase) {
                by_labels.entry(rule.labels().clone()).or_default().push(rule.value());
            }
            let mut webhooks = Vec::new();
            for (number, (labels, rules)) in by_labels.into_iter().enumerate() {
                let suffix = if number == 0 { String::new() } else { format!("-{}", number + 1) };
                let mut webhook = json!({
                    "name": format!("{}{suffix}.{}", path.trim_start_matches('/'), hooks.name),
                    "clientConfig": endpoint.client_config(path)?, "rules": rules,
                    "admissionReviewVersions": ["v1"], "sideEffects": "None", "failurePolicy": "Fail",
                    "matchPolicy": "Equivalent", "timeoutSeconds": TIMEOUT_SECONDS,
                });
                if !labels.is_empty() {
                    webhook["objectSelector"] = json!({"matchLabels": labels});
                }
                webhooks.push(webhook);
            }
            if webhooks.is_empty() {
                continue;
            }
            let configuration = json!({
                "apiVersion": "admissionregistration.k8s.io/v1", "kind": kind,
                "metadata": {"name": hooks.name}, "webhooks": webhooks,
            });
            let yaml = serde_saphyr::to_string(&configuration)
                .map_err(|error| WebhookServerError::Endpoint(format!("it cannot be written: {error}")))?;
            file.push_str("---\n");
            file.push_str(&yaml);
        }
        Ok(file)
    }
}
