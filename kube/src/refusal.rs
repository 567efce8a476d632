//! Maps error responses and error events to errors. Pure.

use std::time::Duration;

use http::{HeaderMap, StatusCode, header};
use machinery_objects::{
    Conflict, Continue, Fence, InvalidField, ListError, ResourceVersion, SourceError, WatchError, WriteError,
};
use serde::Deserialize;

use crate::text::{excerpt, excerpt_of, message};

/// An error response to a request, or the error event of a watch.
#[derive(Debug, PartialEq)]
pub(crate) struct Refusal {
    pub(crate) code: u16,
    reason: String,
    message: String,
    /// Whether it is a `Status` of an API server, not the response of a proxy.
    is_status: bool,
    /// The name of the object.
    name: String,
    causes: Vec<Cause>,
    retry_after: Option<Duration>,
    /// The continue token of an expired list.
    next: Option<Continue>,
}

#[derive(Debug, Default, Deserialize, PartialEq)]
#[serde(default)]
struct Cause {
    reason: Option<String>,
    message: Option<String>,
    field: Option<String>,
}

/// `Status` as servers encode it. Absent fields may also be null.
#[derive(Default, Deserialize)]
#[serde(default)]
pub(crate) struct Status {
    kind: Option<String>,
    code: Option<i64>,
    reason: Option<String>,
    message: Option<String>,
    metadata: Option<StatusMetadata>,
    details: Option<Details>,
}

#[derive(Default, Deserialize)]
#[serde(default)]
struct StatusMetadata {
    #[serde(rename = "continue")]
    next: Option<String>,
}

#[derive(Default, Deserialize)]
#[serde(default, rename_all = "camelCase")]
struct Details {
    name: Option<String>,
    uid: Option<String>,
    causes: Option<Vec<Cause>>,
    retry_after_seconds: Option<i64>,
}

impl Status {
    /// Decodes the `Status` of a body, if it is one.
    pub(crate) fn read(body: &[u8]) -> Option<Self> {
        let status: Self = serde_json::from_slice(body).ok()?;
        (status.kind.as_deref() == Some("Status")).then_some(status)
    }

    /// Returns the UID of the object.
    pub(crate) fn uid(&self) -> Option<&str> {
        self.details.as_ref()?.uid.as_deref()
    }
}

impl Refusal {
    /// Converts an error response.
    pub(crate) fn of_answer(status: StatusCode, headers: &HeaderMap, body: &[u8]) -> Self {
        let mut refusal = match Status::read(body) {
            Some(text) => Self::of_status(text, status.as_u16()),
            None => {
                let separator = if body.is_empty() { "" } else { ": " };
                let text = format!("HTTP {status}{separator}{}", excerpt_of(body));
                let mut refusal = Self::of_status(Status::default(), status.as_u16());
                (refusal.message, refusal.is_status) = (text, false);
                refusal
            }
        };
        refusal.code = status.as_u16();
        let after = headers.get(header::RETRY_AFTER).and_then(|after| after.to_str().ok()?.parse().ok());
        refusal.retry_after = after.map(Duration::from_secs).or(refusal.retry_after);
        refusal
    }

    /// Converts the error event of a watch.
    pub(crate) fn of_status(status: Status, code: u16) -> Self {
        let details = status.details.unwrap_or_default();
        let code = status.code.and_then(|code| u16::try_from(code).ok()).unwrap_or(code);
        let next = status.metadata.and_then(|metadata| metadata.next);
        Self {
            code,
            reason: status.reason.unwrap_or_default(),
            message: message(&status.message.unwrap_or_else(|| format!("code {code}"))),
            is_status: true,
            name: details.name.unwrap_or_default(),
            causes: details.causes.unwrap_or_default(),
            retry_after: details
                .retry_after_seconds
                .and_then(|seconds| u64::try_from(seconds).ok())
                .filter(|seconds| *seconds > 0)
                .map(Duration::from_secs),
            next: next.as_deref().and_then(Continue::new),
        }
    }

    /// Returns whether an object is absent, as opposed to its kind.
    pub(crate) fn is_of_an_absent_object(&self) -> bool {
        self.code == 404 && self.is_status && !self.name.is_empty()
    }

    /// Returns whether a cause names this field or parameter.
    pub(crate) fn is_about(&self, field: &str) -> bool {
        self.causes.iter().any(|cause| cause.field.as_deref() == Some(field))
    }

    /// Returns whether a patch could not be applied to the object.
    pub(crate) fn is_of_the_patch(&self) -> bool {
        let is_of_it = |cause: &Cause| matches!(cause.field.as_deref(), None | Some("" | "patch"));
        self.code == 422 && self.causes.iter().all(is_of_it)
    }

    /// Returns the message for users.
    pub(crate) fn message(self) -> String {
        self.message
    }

    pub(crate) fn source_error(self) -> SourceError {
        let Self { message: reason, retry_after, .. } = self;
        match self.code {
            401 => SourceError::Unauthorized { reason },
            403 => SourceError::Forbidden { reason },
            404 | 405 => SourceError::NotServed { reason },
            408 | 504 => SourceError::TimedOut,
            429 => SourceError::TooManyRequests { retry_after },
            400..=499 => {
                let causes = self.causes.into_iter().map(|cause| InvalidField {
                    field: cause.field.unwrap_or_default(),
                    reason: excerpt(&cause.message.or(cause.reason).unwrap_or_default()),
                });
                SourceError::Invalid { reason, causes: causes.collect() }
            }
            500..=599 => SourceError::Unavailable { reason, retry_after },
            _ => SourceError::Malformed { reason },
        }
    }

    pub(crate) fn list_error(self) -> ListError {
        if self.is_expired() {
            return ListError::Expired { rest: self.next };
        }
        if self.cause("ResourceVersionTooLarge").is_some() {
            let (newest, retry_after) = (newest(&self.message), self.retry_after);
            return ListError::FutureRevision { newest, retry_after };
        }
        self.source_error().into()
    }

    pub(crate) fn watch_error(self) -> WatchError {
        match self.list_error() {
            ListError::Expired { .. } => WatchError::Expired,
            ListError::FutureRevision { newest, retry_after } => {
                WatchError::FutureRevision { newest, retry_after }
            }
            ListError::Source(error) => error.into(),
            other => SourceError::Malformed { reason: other.to_string() }.into(),
        }
    }

    /// Converts the refusal of a write under `fence` to its error.
    pub(crate) fn write_error(self, fence: Option<&Fence>) -> WriteError {
        if let (Some(fence), Some(_)) = (fence, self.cause("FenceStale")) {
            return WriteError::Conflict(Conflict::Fence(Box::new(fence.clone())));
        }
        if let Some(guard) = self.cause("GuardRefused") {
            let guard = guard.message.clone().unwrap_or_default();
            return WriteError::Conflict(Conflict::Guard { guard, reason: self.message });
        }
        match (self.code, self.reason.as_str()) {
            (409, "AlreadyExists") => WriteError::AlreadyExists { uid: None },
            (409, _) => WriteError::Conflict(Conflict::Unspecified { reason: self.message }),
            (404, _) if self.is_of_an_absent_object() => WriteError::NotFound,
            // The request was not started: an API server refuses it before, with a `Status`; a
            // proxy sends none.
            (503, "ServiceUnavailable") if self.is_status => self.source_error().into(),
            // The server may have failed after the commit.
            (408 | 500..=599, _) => WriteError::UnknownOutcome { reason: self.message },
            _ => self.source_error().into(),
        }
    }

    fn is_expired(&self) -> bool {
        self.code == 410 || matches!(self.reason.as_str(), "Expired" | "Gone")
    }

    fn cause(&self, reason: &str) -> Option<&Cause> {
        self.causes.iter().find(|cause| cause.reason.as_deref() == Some(reason))
    }
}

/// Parses the newest version of a server that has not reached a version:
/// `Too large resource version: 9, current: 7`.
fn newest(message: &str) -> Option<ResourceVersion> {
    let (_, current) = message.rsplit_once("current: ")?;
    ResourceVersion::new(current.trim()).filter(|version| version.revision().is_some())
}

#[cfg(test)]
mod tests;
