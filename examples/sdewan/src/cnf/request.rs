//! Requests and answers of a CNF, without connections.

use http::header::{CONTENT_TYPE, HeaderName, HeaderValue};
use http::{HeaderMap, Method, Response, StatusCode};
use http_body_util::Full;
use hyper::body::Bytes;
use serde::Serialize;
use serde_json::{Value, json};

/// A request that was received completely.
#[derive(Clone, Debug)]
pub struct CnfRequest {
    /// The method.
    pub method: Method,
    /// The path, without the query.
    pub path: String,
    /// The headers.
    pub headers: HeaderMap,
    /// The body.
    pub body: Bytes,
}

impl CnfRequest {
    /// A request without headers.
    #[must_use]
    pub fn new(method: Method, path: &str, body: impl Into<Bytes>) -> Self {
        Self { method, path: path.to_owned(), headers: HeaderMap::new(), body: body.into() }
    }

    /// Adds a header.
    #[must_use]
    pub fn header(mut self, name: HeaderName, value: HeaderValue) -> Self {
        self.headers.append(name, value);
        self
    }

    /// Returns the text of a header.
    #[must_use]
    pub fn text(&self, name: &HeaderName) -> Option<&str> {
        self.headers.get(name)?.to_str().ok()
    }
}

/// The answer to a request.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CnfAnswer {
    /// The status code.
    pub status: StatusCode,
    /// The headers, the content type included.
    pub headers: HeaderMap,
    /// The body.
    pub body: Bytes,
}

impl CnfAnswer {
    /// An answer without a body.
    #[must_use]
    pub fn empty(status: StatusCode) -> Self {
        Self { status, headers: HeaderMap::new(), body: Bytes::new() }
    }

    /// An object, as JSON.
    #[must_use]
    pub fn object(status: StatusCode, object: &impl Serialize) -> Self {
        let body = serde_json::to_vec(object).unwrap_or_default();
        Self { body: body.into(), ..Self::empty(status) }.with(CONTENT_TYPE, "application/json")
    }

    /// A message: `{"message": …}`. As in the original its content type is text.
    #[must_use]
    pub fn message(status: StatusCode, text: &str) -> Self {
        Self { body: json!({ "message": text }).to_string().into(), ..Self::empty(status) }
            .with(CONTENT_TYPE, "text/plain")
    }

    /// The success of a request that has no object to return.
    #[must_use]
    pub fn success() -> Self {
        Self::message(StatusCode::OK, "success")
    }

    /// A path that does not exist in this form.
    #[must_use]
    pub fn bad_uri() -> Self {
        Self::message(StatusCode::BAD_REQUEST, "Bad request URI")
    }

    /// A method that the path does not have.
    #[must_use]
    pub fn bad_method() -> Self {
        Self::message(StatusCode::METHOD_NOT_ALLOWED, "Method Not Allowed")
    }

    /// Adds a header; a value that no header can hold is left out.
    #[must_use]
    pub fn with(mut self, name: HeaderName, value: &str) -> Self {
        if let Ok(value) = HeaderValue::from_str(value) {
            self.headers.append(name, value);
        }
        self
    }

    /// Returns the body as JSON; null if it is none.
    #[must_use]
    pub fn json(&self) -> Value {
        serde_json::from_slice(&self.body).unwrap_or_default()
    }

    /// Returns the response of a connection.
    #[must_use]
    pub fn into_response(self) -> Response<Full<Bytes>> {
        let mut response = Response::new(Full::new(self.body));
        *response.status_mut() = self.status;
        *response.headers_mut() = self.headers;
        response
    }
}
