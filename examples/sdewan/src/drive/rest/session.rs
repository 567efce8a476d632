//! Logged-in calls to one CNF.

use std::sync::Arc;

use http::header::{CONTENT_TYPE, COOKIE, ETAG, HOST, HeaderName, SET_COOKIE};
use http::{Method, Request, StatusCode};
use http_body_util::Full;
use hyper::body::Bytes;
use machinery::sync::Mutex;
use percent_encoding::{NON_ALPHANUMERIC, utf8_percent_encode};
use rustls::pki_types::ServerName;
use serde_json::Value;

use super::access::CnfAccess;
use super::connection::{PodConnections, RawAnswer};
use super::error::RestError;
use super::limits::RestLimits;
use super::tls::client_config;
use crate::cnf::{BASE_PATH, CNF_USER, SESSION_COOKIE};

/// The longest message of a CNF that is shown.
const MESSAGE_CHARACTERS: usize = 512;

/// A client of one CNF: connections and a session. It logs in when it needs to, and once more when
/// the CNF has forgotten the session.
pub struct CnfSession {
    access: CnfAccess,
    connections: PodConnections,
    token: Mutex<Option<Arc<str>>>,
}

/// A call of the REST API.
#[derive(Clone, Debug)]
pub struct RestCall {
    /// The method.
    pub method: Method,
    /// The path behind `/cgi-bin/luci`.
    pub path: String,
    /// Headers of the call.
    pub headers: Vec<(HeaderName, String)>,
    /// The body, as JSON; empty for none.
    pub body: Bytes,
}

impl RestCall {
    /// A call without headers and body.
    #[must_use]
    pub fn new(method: Method, path: impl Into<String>) -> Self {
        Self { method, path: path.into(), headers: Vec::new(), body: Bytes::new() }
    }

    /// Adds a header.
    #[must_use]
    pub fn header(mut self, name: HeaderName, value: impl Into<String>) -> Self {
        self.headers.push((name, value.into()));
        self
    }

    /// Sets the body.
    #[must_use]
    pub fn json(mut self, body: &Value) -> Self {
        self.body = body.to_string().into();
        self
    }
}

/// A successful answer: 2xx, or 304.
#[derive(Clone, Debug)]
pub struct RestAnswer {
    /// The status code.
    pub status: StatusCode,
    /// The entity tag.
    pub etag: Option<String>,
    /// The body.
    pub body: Bytes,
}

impl RestAnswer {
    /// Parses the body.
    ///
    /// # Errors
    /// It is not JSON.
    pub fn json(&self) -> Result<Value, RestError> {
        serde_json::from_slice(&self.body).map_err(|error| RestError::Nonsense(format!("no JSON: {error}")))
    }
}

impl CnfSession {
    /// Prepares a client. It connects at the first call.
    ///
    /// # Errors
    /// The password is empty, or the authority or the DNS name cannot be used.
    pub fn new(access: CnfAccess, limits: RestLimits) -> Result<Self, RestError> {
        if access.password.is_empty() {
            return Err(RestError::Account("the password of the CNF's account is empty".into()));
        }
        let name = ServerName::try_from(access.dns_name.clone());
        let name = name.map_err(|_| RestError::Account(format!("{} is no DNS name", access.dns_name)))?;
        let tls = client_config(&access.authority, access.address.ip().into()).map_err(RestError::Account)?;
        let connections = PodConnections::new(access.address, name, tls, limits);
        Ok(Self { access, connections, token: Mutex::default() })
    }

    /// Returns the endpoint and credentials that it was made for.
    #[must_use]
    pub const fn access(&self) -> &CnfAccess {
        &self.access
    }

    /// Calls the CNF.
    ///
    /// # Errors
    /// The CNF cannot be reached, refuses the login or the request, redirects, or answers with
    /// nonsense. After a 403 it logs in again and repeats the call once; another 403 is an error.
    pub async fn call(&self, call: &RestCall) -> Result<RestAnswer, RestError> {
        let first = self.token.lock().clone();
        let (token, is_new) = match first {
            Some(token) => (token, false),
            None => (self.log_in().await?, true),
        };
        let answered = self.send(call, &token).await?;
        if !is_forbidden(answered.head.status) {
            return answer(answered);
        }
        self.forget(&token);
        if is_new {
            return Err(RestError::Login(answered.head.status));
        }
        let token = self.log_in().await?;
        let answered = self.send(call, &token).await?;
        if is_forbidden(answered.head.status) {
            self.forget(&token);
            return Err(RestError::Login(answered.head.status));
        }
        answer(answered)
    }

    async fn send(&self, call: &RestCall, token: &str) -> Result<RawAnswer, RestError> {
        let mut request = Request::builder()
            .method(call.method.clone())
            .uri(format!("{BASE_PATH}{}", call.path))
            .header(HOST, &self.access.dns_name)
            .header(COOKIE, format!("{SESSION_COOKIE}={token}"));
        if !call.body.is_empty() {
            request = request.header(CONTENT_TYPE, "application/json");
        }
        for (name, value) in &call.headers {
            request = request.header(name, value);
        }
        let request = request.body(Full::new(call.body.clone()));
        let request = request.map_err(|error| RestError::Nonsense(format!("no request: {error}")))?;
        self.connections.send(&request).await
    }

    /// Logs in: LuCI answers 302 with the cookie.
    async fn log_in(&self) -> Result<Arc<str>, RestError> {
        let password = utf8_percent_encode(&self.access.password, NON_ALPHANUMERIC);
        let form = format!("luci_username={CNF_USER}&luci_password={password}");
        let request = Request::post(format!("{BASE_PATH}/"))
            .header(HOST, &self.access.dns_name)
            .header(CONTENT_TYPE, "application/x-www-form-urlencoded")
            .body(Full::new(form.into()));
        let request = request.map_err(|error| RestError::Nonsense(format!("no request: {error}")))?;
        let answered = self.connections.send(&request).await?;
        if answered.head.status != StatusCode::FOUND {
            return Err(match answered.head.status {
                status if status.is_server_error() => refusal(&answered),
                status => RestError::Login(status),
            });
        }
        let token = token(&answered.head);
        let token = token.ok_or_else(|| RestError::Nonsense("the login sets no cookie".into()))?;
        *self.token.lock() = Some(token.clone());
        Ok(token)
    }

    /// Forgets a session, unless another call has logged in since.
    fn forget(&self, token: &Arc<str>) {
        let mut current = self.token.lock();
        if current.as_ref().is_some_and(|current| Arc::ptr_eq(current, token)) {
            *current = None;
        }
    }
}

const fn is_forbidden(status: StatusCode) -> bool {
    matches!(status, StatusCode::FORBIDDEN | StatusCode::UNAUTHORIZED)
}

fn token(head: &http::response::Parts) -> Option<Arc<str>> {
    let cookies = head.headers.get_all(SET_COOKIE).iter().filter_map(|cookie| cookie.to_str().ok());
    let pairs = cookies.filter_map(|cookie| cookie.split(';').next()?.trim().split_once('='));
    let mut tokens = pairs.filter(|(name, token)| *name == SESSION_COOKIE && !token.is_empty());
    tokens.next().map(|(_, token)| token.into())
}

fn answer(raw: RawAnswer) -> Result<RestAnswer, RestError> {
    let status = raw.head.status;
    if status.is_redirection() && status != StatusCode::NOT_MODIFIED {
        return Err(RestError::Redirect(status));
    }
    if !status.is_success() && status != StatusCode::NOT_MODIFIED {
        return Err(refusal(&raw));
    }
    let etag = raw.head.headers.get(ETAG).and_then(|etag| etag.to_str().ok()).map(str::to_owned);
    Ok(RestAnswer { status, etag, body: raw.body })
}

/// Returns the refusal of an answer: the message in its JSON, or the beginning of its text.
fn refusal(raw: &RawAnswer) -> RestError {
    if raw.head.status == StatusCode::UNPROCESSABLE_ENTITY
        && let Ok(refusals) = serde_json::from_slice(&raw.body)
    {
        return RestError::RefusedObjects(refusals);
    }
    let parsed: Option<Value> = serde_json::from_slice(&raw.body).ok();
    let message = parsed.as_ref().and_then(|body| body.get("message")?.as_str());
    let text = message.map_or_else(|| String::from_utf8_lossy(&raw.body), Into::into);
    RestError::Refused { status: raw.head.status, message: shortened(&text) }
}

/// Returns the beginning of a message, in one line.
pub(super) fn shortened(text: &str) -> String {
    text.chars().filter(|one| !one.is_control()).take(MESSAGE_CHARACTERS).collect()
}
