//! The kinds MutatingWebhookConfiguration and ValidatingWebhookConfiguration.

mod client;
mod rules;
mod validate;

use serde_json::{Map, Value, json};

use crate::invalid::FieldError;
use crate::kind::KindHooks;

pub(crate) const GROUP: &str = "admissionregistration.k8s.io";

/// One of the two kinds.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Configurations {
    Mutating,
    Validating,
}

impl KindHooks for Configurations {
    fn default(&self, object: &mut Value) {
        for webhook in object["webhooks"].as_array_mut().into_iter().flatten() {
            let Some(webhook) = webhook.as_object_mut() else { continue };
            for (field, value) in [
                ("failurePolicy", json!("Fail")),
                ("matchPolicy", json!("Equivalent")),
                ("namespaceSelector", json!({})),
                ("objectSelector", json!({})),
                ("timeoutSeconds", json!(10)),
            ] {
                fill(webhook, field, value);
            }
            if *self == Self::Mutating {
                fill(webhook, "reinvocationPolicy", json!("Never"));
            }
            let service = webhook.get_mut("clientConfig").and_then(|client| client.get_mut("service"));
            if let Some(service) = service.and_then(Value::as_object_mut) {
                fill(service, "port", json!(443));
            }
            let rules = webhook.get_mut("rules").and_then(Value::as_array_mut);
            for rule in rules.into_iter().flatten().filter_map(Value::as_object_mut) {
                fill(rule, "scope", json!("*"));
            }
        }
    }

    fn validate(&self, new: &Value, _old: Option<&Value>) -> Vec<FieldError> {
        validate::webhooks(new, *self)
    }
}

fn fill(object: &mut Map<String, Value>, field: &str, value: Value) {
    if object.get(field).is_none_or(Value::is_null) {
        object.insert(field.into(), value);
    }
}
