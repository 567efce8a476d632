//! Error responses: one type, sent to clients as a Kubernetes `Status` object.

use serde_json::{Map, Value, json};

/// An error response in the terms of Kubernetes. Clients branch on the reason and show the message.
#[derive(Clone, Debug, PartialEq)]
pub struct Refusal {
    /// The HTTP status.
    pub code: u16,
    /// The machine-readable reason: `NotFound`, `Conflict`, `Invalid`… Empty if a webhook denied
    /// the request without a reason.
    pub reason: &'static str,
    /// A message for people.
    pub message: String,
    /// The object that the error concerns, if known.
    pub about: About,
    /// The invalid fields.
    pub causes: Vec<Cause>,
    /// Seconds after which a retry may succeed.
    pub retry_after: Option<u32>,
    /// Warnings for the client.
    pub warnings: Vec<String>,
    /// For an expired list: a continue token for the remainder, inconsistent with the earlier
    /// pages.
    pub next: Option<String>,
    /// Reasons that only a webhook uses: passed on to the client and ignored by the server.
    pub(crate) foreign: Option<Box<Foreign>>,
    /// True if the message was written by admission, which has seen the object and may quote it.
    pub(crate) by_others: bool,
}

/// Reasons of a webhook that Kubernetes does not define.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Foreign {
    /// Replaces the reason.
    pub(crate) reason: String,
    /// Replace the reasons of the causes, by index.
    pub(crate) of_causes: Vec<String>,
}

/// The object that an error concerns.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct About {
    /// The API group; empty for the core group.
    pub group: String,
    /// The kind or the plural, whichever Kubernetes uses with the reason.
    pub kind: String,
    /// The name.
    pub name: String,
    /// The UID, if a UID was compared.
    pub uid: String,
}

/// One invalid field.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Cause {
    /// `FieldValueInvalid`, `FieldValueRequired`…
    pub reason: &'static str,
    /// A message for people.
    pub message: String,
    /// The field path: `spec.ports[0].name`.
    pub field: String,
}

impl Refusal {
    /// Returns a refusal that concerns no object.
    #[must_use]
    pub fn new(code: u16, reason: &'static str, message: impl Into<String>) -> Self {
        let (about, causes) = (About::default(), Vec::new());
        Self {
            code,
            reason,
            message: message.into(),
            about,
            causes,
            retry_after: None,
            warnings: Vec::new(),
            next: None,
            foreign: None,
            by_others: false,
        }
    }

    /// 400: the request is malformed.
    #[must_use]
    pub fn bad_request(message: impl Into<String>) -> Self {
        Self::new(400, "BadRequest", message)
    }

    /// Adds warnings for the client.
    #[must_use]
    pub fn warning(mut self, warnings: &[String]) -> Self {
        self.warnings.extend_from_slice(warnings);
        self
    }

    /// Returns the `Status` object.
    #[must_use]
    pub fn status(&self) -> Value {
        let mut status = json!({
            "kind": "Status", "apiVersion": "v1", "metadata": {}, "status": "Failure",
            "message": self.message, "reason": self.reason, "code": self.code,
        });
        if let Some(foreign) = self.foreign.as_ref().filter(|foreign| !foreign.reason.is_empty()) {
            status["reason"] = foreign.reason.as_str().into();
        } else if self.reason.is_empty()
            && let Some(status) = status.as_object_mut()
        {
            // A webhook may deny without a reason.
            status.remove("reason");
        }
        if let Some(next) = &self.next {
            status["metadata"]["continue"] = next.as_str().into();
        }
        let details = self.details();
        if !details.is_empty() {
            status["details"] = Value::Object(details);
        }
        status
    }

    fn details(&self) -> Map<String, Value> {
        let mut details = Map::new();
        let About { group, kind, name, uid } = &self.about;
        for (key, text) in [("group", group), ("kind", kind), ("name", name), ("uid", uid)] {
            if !text.is_empty() {
                details.insert(key.into(), text.clone().into());
            }
        }
        if !self.causes.is_empty() {
            let foreign = |at: usize| self.foreign.as_ref()?.of_causes.get(at).map(String::as_str);
            let cause = |(at, cause): (usize, &Cause)| {
                let mut said = Map::new();
                let reason = foreign(at).unwrap_or(cause.reason);
                for (key, text) in [("reason", reason), ("message", &cause.message), ("field", &cause.field)]
                {
                    if !text.is_empty() {
                        said.insert(key.into(), text.into());
                    }
                }
                Value::Object(said)
            };
            details.insert("causes".into(), self.causes.iter().enumerate().map(cause).collect());
        }
        if let Some(seconds) = self.retry_after {
            details.insert("retryAfterSeconds".into(), seconds.into());
        }
        details
    }
}

impl std::fmt::Display for Refusal {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(&self.message)
    }
}

impl std::error::Error for Refusal {}
