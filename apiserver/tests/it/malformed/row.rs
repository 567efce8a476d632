//! One request, and its expected answer.

use std::fmt;

use bytes::Bytes;
use http::{Method, Request};
use http_body_util::{BodyExt, Full};
use serde_json::Value;

use crate::client::{Answer, Client};

pub(super) const ALL: &str = "/apis/example.com/v1/namespaces/default/widgets";
pub(super) const ONE: &str = "/apis/example.com/v1/namespaces/default/widgets/a";
pub(super) const CONFIGS: &str = "/api/v1/namespaces/default/configmaps";
pub(super) const CONFIG: &str = "/api/v1/namespaces/default/configmaps/a";
pub(super) const CRDS: &str = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions";
pub(super) const JSON: &str = "application/json";

/// Code and reason. An empty reason: the answer is plain text, as for an unknown path.
pub(super) type ExpectedAnswer = (u16, &'static str);
/// Any answer.
pub(super) const ANY: ExpectedAnswer = (0, "");
/// Any code and reason of a client error, with a `Status`.
pub(super) const REFUSED: ExpectedAnswer = (0, "*");
pub(super) const BAD: ExpectedAnswer = (400, "BadRequest");
pub(super) const NOT_FOUND: ExpectedAnswer = (404, "NotFound");
pub(super) const NOTHING: ExpectedAnswer = (404, "");
pub(super) const NOT_ALLOWED: ExpectedAnswer = (405, "MethodNotAllowed");
pub(super) const NOT_ACCEPTABLE: ExpectedAnswer = (406, "NotAcceptable");
pub(super) const TOO_LARGE: ExpectedAnswer = (413, "RequestEntityTooLarge");
pub(super) const MEDIA: ExpectedAnswer = (415, "UnsupportedMediaType");
pub(super) const INVALID: ExpectedAnswer = (422, "Invalid");

#[derive(Clone)]
pub(super) struct Row {
    method: Method,
    path: String,
    headers: Vec<(&'static str, String)>,
    body: Bytes,
    expected: ExpectedAnswer,
}

impl Row {
    pub(super) fn get(path: impl Into<String>, expected: ExpectedAnswer) -> Self {
        Self::of(Method::GET, path, expected)
    }

    pub(super) fn of(method: Method, path: impl Into<String>, expected: ExpectedAnswer) -> Self {
        Self { method, path: path.into(), headers: Vec::new(), body: Bytes::new(), expected }
    }

    pub(super) fn post(path: &str, media: &str, body: impl Into<Bytes>, expected: ExpectedAnswer) -> Self {
        Self::of(Method::POST, path, expected).with(media, body)
    }

    pub(super) fn patch(path: &str, media: &str, body: impl Into<Bytes>, expected: ExpectedAnswer) -> Self {
        Self::of(Method::PATCH, path, expected).with(media, body)
    }

    pub(super) fn with(self, media: &str, body: impl Into<Bytes>) -> Self {
        Self { body: body.into(), ..self }.header("content-type", media)
    }

    pub(super) fn header(mut self, name: &'static str, value: &str) -> Self {
        self.headers.push((name, value.to_owned()));
        self
    }

    /// Returns the identity of the request among others.
    pub(super) fn key(&self) -> (String, String, Vec<(&'static str, String)>, Bytes) {
        (self.method.to_string(), self.path.clone(), self.headers.clone(), self.body.clone())
    }

    pub(super) fn length(&self) -> usize {
        self.path.len() + self.body.len()
    }

    /// Sets the expected answer.
    pub(super) fn expecting(self, expected: ExpectedAnswer) -> Self {
        Self { expected, ..self }
    }

    /// Returns whether the answer may have this code.
    pub(super) fn expects(&self, code: u16) -> bool {
        match self.expected {
            ANY => true,
            REFUSED => (400..500).contains(&code),
            (expected, _) => code == expected,
        }
    }

    /// Returns the request. `None`: no client can send it.
    pub(super) fn request(&self) -> Option<Request<Full<Bytes>>> {
        let mut request = Request::builder().method(self.method.clone()).uri(&self.path);
        for (name, value) in &self.headers {
            request = request.header(*name, value);
        }
        request.body(Full::new(self.body.clone())).ok()
    }

    pub(super) async fn send(&self, client: &Client) -> Answer {
        let Some(request) = self.request() else {
            return Answer { code: 0, body: "no client can send it".into() };
        };
        let (head, body) = client.send(request).await.into_parts();
        // A watch that should have been refused would not end.
        if head.status == 200 {
            return Answer { code: 200, body: Value::Null };
        }
        let bytes = body.collect().await.unwrap().to_bytes();
        let text = String::from_utf8_lossy(&bytes).into_owned();
        Answer { code: head.status.as_u16(), body: serde_json::from_slice(&bytes).unwrap_or(text.into()) }
    }

    /// Returns the difference from the expected answer.
    pub(super) fn complaint(&self, answer: &Answer) -> Option<String> {
        let (code, reason, message) = answer.refused();
        let is_status = answer.body["kind"] == "Status" && answer.body["code"] == code && !message.is_empty();
        let fine = match self.expected {
            REFUSED => (400..500).contains(&code) && is_status && !reason.is_empty(),
            expected => (code, reason) == expected && is_status != reason.is_empty(),
        };
        (!fine).then(|| {
            format!(
                "{self:?}: {code} {reason} {:.300}",
                if message.is_empty() { answer.body.to_string() } else { message.to_owned() }
            )
        })
    }
}

impl fmt::Debug for Row {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let body = String::from_utf8_lossy(&self.body);
        let body: String = if body.len() < 2000 { body.into() } else { format!("{} bytes", body.len()) };
        let (path, expected, headers) = (&self.path, self.expected, &self.headers);
        write!(f, "{} {path:.120} {headers:.120?} {body} (should be {expected:?})", self.method)
    }
}

/// Returns all objects, and the revision, which every write raises.
pub(super) async fn everything(client: &Client) -> Vec<Value> {
    let mut lists = Vec::new();
    for path in
        ["/api/v1/namespaces", "/api/v1/configmaps", "/apis/example.com/v1/widgets", CRDS, "/api/v1/events"]
    {
        lists.push(client.get(path).await.fine());
    }
    lists
}
