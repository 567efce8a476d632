//! The audit event of a request: `audit.k8s.io/v1`, serialized as one line.

use jiff::Timestamp;
use serde_json::{Map, Value, json};

use super::annotations::{Annotations, CollectedAnnotations, ServerAnnotation};
use super::policy::{AuditLevel, AuditStage};
use crate::auth::Identity;
use crate::refusal::Refusal;
use crate::request::{Resource, decode};

/// Maximum length of a logged user agent; longer ones are truncated.
const USER_AGENT_CHARS: usize = 1024;
/// Maximum size of a logged body; longer ones are omitted.
pub(super) const BODY_BYTES: usize = 512 << 10;
/// Annotation that lists omitted fields and the reasons.
const LEFT_OUT: &str = "machinery.dev/left-out";

/// An audit event, completed as the request is processed.
#[derive(Clone, Debug, Default)]
pub(super) struct AuditEvent {
    fields: Map<String, Value>,
    annotations: Map<String, Value>,
    left_out: Vec<String>,
    /// The URI held a token or the resource holds secrets, so that messages and annotations are
    /// redacted.
    pub(super) hides: bool,
}

impl AuditEvent {
    /// The event of a received request.
    pub(super) fn new(id: &str, uri: &str, user_agent: Option<&str>, received: Timestamp) -> Self {
        let (uri, redacted) = without_tokens(uri);
        let mut event = Self { hides: redacted, ..Self::default() };
        event.set("kind", "Event".into());
        event.set("apiVersion", "audit.k8s.io/v1".into());
        event.set("auditID", id.into());
        event.set("requestURI", uri.into());
        event.set("requestReceivedTimestamp", micros(received).into());
        if let Some(agent) = user_agent {
            event.set("userAgent", agent.chars().take(USER_AGENT_CHARS).collect::<String>().into());
        }
        event
    }

    pub(super) fn set(&mut self, field: &str, value: Value) {
        self.fields.insert(field.into(), value);
    }

    pub(super) fn level(&mut self, level: AuditLevel) {
        self.set("level", level.name().into());
    }

    pub(super) fn user(&mut self, user: Option<&Identity>) {
        self.set("user", user.map_or_else(|| json!({}), Identity::user_info));
    }

    pub(super) fn annotate(&mut self, key: &str, value: impl Into<String>) {
        self.annotations.insert(key.into(), value.into().into());
    }

    /// Adds the annotations of admission. Webhooks saw the whole object, so where content is hidden
    /// only their keys are logged.
    pub(super) fn add_annotations(&mut self, annotations: &Annotations, level: AuditLevel) {
        let CollectedAnnotations { from_webhooks, from_server, left_out, .. } = annotations.take();
        for (key, ServerAnnotation { value, has_content }) in from_server {
            if !has_content || (level >= AuditLevel::Request && !self.hides) {
                self.annotate(&key, value);
            }
        }
        for (key, value) in from_webhooks {
            self.annotate(&key, if self.hides { "REDACTED".into() } else { value });
        }
        for (webhook, why) in left_out {
            self.leave_out(&format!("annotations of {webhook}"), why);
        }
    }

    /// Sets `objectRef`; `name` may be the one that a field selector selects.
    pub(super) fn object(&mut self, resource: &Resource, name: &str) {
        let of = [
            ("resource", Some(resource.plural.as_str())),
            ("namespace", resource.authorized_in()),
            ("name", Some(name)),
            ("apiGroup", Some(resource.group.as_str())),
            ("apiVersion", Some(resource.version.as_str())),
            ("subresource", resource.subresource.as_deref()),
        ];
        let text =
            of.into_iter().filter_map(|(field, text)| Some((field, text.filter(|text| !text.is_empty())?)));
        self.set("objectRef", text.map(|(field, text)| (field.to_owned(), Value::from(text))).collect());
    }

    /// Fills in the fields of `objectRef` that the path lacks, from the object.
    pub(super) fn complete_object_ref(&mut self, object: &Value) {
        let Some(about) = self.fields.get_mut("objectRef") else { return };
        for field in ["name", "namespace", "uid", "resourceVersion"] {
            let text = object["metadata"][field].as_str().filter(|text| !text.is_empty());
            if let Some(text) = text.filter(|_| about[field].is_null()) {
                about[field] = text.into();
            }
        }
    }

    /// Fills in a name that the server generated.
    pub(super) fn created(&mut self, object: &Value) {
        let Some(about) = self.fields.get_mut("objectRef") else { return };
        if let Some(name) = object["metadata"]["name"].as_str().filter(|_| about["name"].is_null()) {
            about["name"] = name.into();
        }
    }

    /// Sets the request or response body.
    pub(super) fn body(&mut self, field: &'static str, body: Result<Value, &str>, without_managed: bool) {
        match body {
            Ok(mut object) => {
                // By content: a Secret may be sent to the endpoint of another resource.
                if holds_secrets(&object) {
                    return self.leave_out(field, "it holds secrets");
                }
                if without_managed {
                    forget_managers(&mut object);
                }
                self.set(field, object);
            }
            Err(why) => self.leave_out(field, why),
        }
    }

    pub(super) fn leave_out(&mut self, field: &str, why: &str) {
        self.left_out.push(format!("{field}: {why}"));
    }

    /// Sets the status code of a successful response.
    pub(super) fn answered(&mut self, code: u16) {
        self.set("responseStatus", json!({"metadata": {}, "code": code}));
    }

    /// Sets the status of a failed request.
    pub(super) fn refused(&mut self, refusal: &Refusal) {
        let mut status = refusal.status();
        if let Some(status) = status.as_object_mut() {
            status.remove("kind");
            status.remove("apiVersion");
            // Messages of these codes mention names at most; those of others may quote the request.
            let is_of_names = matches!(refusal.code, 401 | 403 | 404 | 405 | 409 | 410 | 429 | 503 | 504);
            if self.hides && (refusal.by_others || !is_of_names) {
                status.remove("message");
                status.remove("details");
            }
            // A webhook chooses its reason freely.
            if self.hides && refusal.foreign.is_some() {
                status.insert("reason".into(), refusal.reason.into());
            }
        }
        self.set("responseStatus", status);
    }

    /// Serializes the event of a stage.
    pub(super) fn line(&self, stage: AuditStage, now: Timestamp) -> Vec<u8> {
        let mut annotations = self.annotations.clone();
        if !self.left_out.is_empty() {
            annotations.insert(LEFT_OUT.into(), self.left_out.join("; ").into());
        }
        let mut fields = self.fields.clone();
        fields.insert("stage".into(), stage.name().into());
        fields.insert("stageTimestamp".into(), micros(now).into());
        if !annotations.is_empty() {
            fields.insert("annotations".into(), annotations.into());
        }
        let mut line = serde_json::to_vec(&fields).expect("a value is JSON");
        line.push(b'\n');
        line
    }
}

/// The format of Kubernetes' `MicroTime`.
fn micros(time: Timestamp) -> String {
    format!("{time:.6}")
}

/// Returns whether the object holds secrets, whichever endpoint it was sent to.
fn holds_secrets(object: &Value) -> bool {
    ["Secret", "SecretList", "TokenReview", "TokenRequest"].iter().any(|kind| object["kind"] == *kind)
        || object["items"].as_array().is_some_and(|items| items.iter().any(holds_secrets))
}

fn forget_managers(object: &mut Value) {
    if let Some(metadata) = object.get_mut("metadata").and_then(Value::as_object_mut) {
        metadata.remove("managedFields");
    }
    object.get_mut("items").and_then(Value::as_array_mut).into_iter().flatten().for_each(forget_managers);
}

/// Redacts the values of tokens in the query; returns whether there were any.
fn without_tokens(uri: &str) -> (String, bool) {
    let Some((path, query)) = uri.split_once('?') else { return (uri.to_owned(), false) };
    let mut redacted = false;
    let pair = |pair: &str| {
        let key = pair.split_once('=').map_or(pair, |(key, _)| key);
        let name = decode(key).unwrap_or_else(|| key.to_owned()).to_lowercase();
        if name == "token" || name.ends_with("_token") || name == "authorization" {
            redacted = true;
            return format!("{key}=REDACTED");
        }
        pair.to_owned()
    };
    let query: Vec<String> = query.split('&').map(pair).collect();
    (format!("{path}?{}", query.join("&")), redacted)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::refusal::Foreign;

    #[test]
    fn tokens_are_redacted_in_the_uri() {
        let check = |uri: &str, expected: &str| assert_eq!(without_tokens(uri).0, expected);
        check("/api", "/api");
        check("/api?watch=1&token=x&a=b", "/api?watch=1&token=REDACTED&a=b");
        check("/api?access_token=x", "/api?access_token=REDACTED");
        check("/api?Access%5fToken=%zz", "/api?Access%5fToken=REDACTED");
        check("/api?tokens=x", "/api?tokens=x");
        check("/a?continue=x&&b", "/a?continue=x&&b");
    }

    #[test]
    fn messages_about_secrets_are_not_logged() {
        let mut event = AuditEvent { hides: true, ..AuditEvent::default() };
        event.refused(&Refusal::new(422, "Invalid", "data[x]: planted"));
        let expected = json!({"metadata": {}, "status": "Failure", "reason": "Invalid", "code": 422});
        assert_eq!(event.fields["responseStatus"], expected);
        let foreign = Some(Box::new(Foreign { reason: "planted".into(), ..Foreign::default() }));
        event.refused(&Refusal { by_others: true, foreign, ..Refusal::new(403, "Forbidden", "planted") });
        let expected = json!({"metadata": {}, "status": "Failure", "reason": "Forbidden", "code": 403});
        assert_eq!(event.fields["responseStatus"], expected);
        event.refused(&Refusal::new(404, "NotFound", "secrets \"a\" not found"));
        assert_eq!(event.fields["responseStatus"]["message"], "secrets \"a\" not found");
    }

    #[test]
    fn a_secret_in_another_request_body_is_omitted() {
        let mut event = AuditEvent::default();
        event.body("requestObject", Ok(json!({"items": [{"kind": "Secret"}]})), false);
        assert_eq!(event.fields.get("requestObject"), None);
        assert_eq!(event.left_out, ["requestObject: it holds secrets"]);
    }

    #[test]
    fn managed_fields_are_omitted_by_policy() {
        let object = json!({"metadata": {"name": "a", "managedFields": []}, "items": [{"metadata": {"managedFields": []}}]});
        let mut event = AuditEvent::default();
        event.body("requestObject", Ok(object), true);
        let expected = json!({"metadata": {"name": "a"}, "items": [{"metadata": {}}]});
        assert_eq!(event.fields["requestObject"], expected);
    }
}
