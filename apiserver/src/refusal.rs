//! Why a request was not done: one type, which is the `Status` that clients read.

use serde_json::{Map, Value, json};

/// A request that was not done, as Kubernetes says it. Clients switch on the reason, and show the message.
#[derive(Clone, Debug, PartialEq)]
pub struct Refusal {
    /// The HTTP status.
    pub code: u16,
    /// What clients switch on: `NotFound`, `Conflict`, `Invalid`… Empty where a webhook refused and gave none.
    pub reason: &'static str,
    /// For people.
    pub message: String,
    /// What it is about, where that is known.
    pub about: About,
    /// What is wrong with which field.
    pub causes: Vec<Cause>,
    /// When trying again may help, in seconds.
    pub retry_after: Option<u32>,
    /// What the client should know besides.
    pub warnings: Vec<String>,
    /// Of a list that cannot go on as it was: the token with which it can go on otherwise.
    pub next: Option<String>,
    /// Reasons that only a webhook has: the client is told them, and the server does nothing by them.
    pub(crate) foreign: Option<Box<Foreign>>,
    /// Its words are those of somebody who was asked about what was sent, and may repeat it.
    pub(crate) by_others: bool,
}

/// What a webhook says that Kubernetes has no word for.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Foreign {
    /// In place of the reason.
    pub(crate) reason: String,
    /// In place of the reasons of the causes, one for each.
    pub(crate) of_causes: Vec<String>,
}

/// Which object a refusal is about.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct About {
    /// The API group; empty for the oldest.
    pub group: String,
    /// The kind, or the plural: Kubernetes says either, by the reason.
    pub kind: String,
    /// The name.
    pub name: String,
    /// The UID, where one was compared.
    pub uid: String,
}

/// One thing that is wrong.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Cause {
    /// `FieldValueInvalid`, `FieldValueRequired`…
    pub reason: &'static str,
    /// For people.
    pub message: String,
    /// Where: `spec.ports[0].name`.
    pub field: String,
}

impl Refusal {
    /// A refusal of nothing in particular.
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

    /// 400: the request makes no sense.
    #[must_use]
    pub fn bad_request(message: impl Into<String>) -> Self {
        Self::new(400, "BadRequest", message)
    }

    /// The same, with what the client should know besides.
    #[must_use]
    pub fn warning(mut self, warnings: &[String]) -> Self {
        self.warnings.extend_from_slice(warnings);
        self
    }

    /// The `Status` object.
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
            // A webhook refuses as it likes.
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
