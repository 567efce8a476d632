//! Responses: status, headers, body.

use http::header::{
    CACHE_CONTROL, CONTENT_LENGTH, CONTENT_TYPE, HeaderName, HeaderValue, RETRY_AFTER, WARNING,
    WWW_AUTHENTICATE,
};
use http::{Response, StatusCode};
use http_body::Body as _;
use serde_json::Value;

use super::Body;
use crate::accept::{Media, ResponseFormat};
use crate::protobuf;
use crate::refusal::Refusal;

/// A response with these bytes.
pub(crate) fn bytes(code: u16, content_type: &'static str, body: Body) -> Response<Body> {
    let mut response = Response::new(body);
    *response.status_mut() = StatusCode::from_u16(code).unwrap_or(StatusCode::INTERNAL_SERVER_ERROR);
    let headers = response.headers_mut();
    headers.insert(CONTENT_TYPE, HeaderValue::from_static(content_type));
    headers.insert(CACHE_CONTROL, HeaderValue::from_static("no-cache, private"));
    response
}

/// A response with one value in the negotiated format. If that cannot represent the value, a
/// refusal in JSON.
pub(crate) fn value(code: u16, form: ResponseFormat, value: &Value) -> Response<Body> {
    match written(form, value) {
        Ok(body) => bytes(code, form.content_type(), Body::whole(body)),
        Err(refusal) => refused(&refusal, ResponseFormat::default()),
    }
}

/// The response of a refusal.
pub(crate) fn refused(refusal: &Refusal, form: ResponseFormat) -> Response<Body> {
    let mut response = value(refusal.code, form, &refusal.status());
    let headers = response.headers_mut();
    if let Some(seconds) = refusal.retry_after {
        headers.insert(RETRY_AFTER, seconds.into());
    }
    for warning in refusal.warnings.iter().filter_map(|warning| warning_header(warning)) {
        headers.append(WARNING, warning);
    }
    if refusal.code == 401 {
        headers.insert(WWW_AUTHENTICATE, HeaderValue::from_static(r#"Bearer realm="machinery""#));
    }
    response
}

/// 404 for an unknown path, in plain text as in Kubernetes.
pub(crate) fn nothing_there() -> Response<Body> {
    bytes(404, "text/plain; charset=utf-8", Body::whole("404 page not found\n"))
}

/// Appends `Warning` headers. Characters that a header cannot hold are omitted.
pub(crate) fn with_warnings(mut response: Response<Body>, warnings: &[String]) -> Response<Body> {
    for warning in warnings {
        if let Some(header) = warning_header(warning) {
            response.headers_mut().append(WARNING, header);
        }
    }
    response
}

/// Inserts `Warning` headers before existing ones.
pub(crate) fn with_first_warnings(mut response: Response<Body>, warnings: &[String]) -> Response<Body> {
    let said: Vec<HeaderValue> = response.headers().get_all(WARNING).iter().cloned().collect();
    response.headers_mut().remove(WARNING);
    let mut response = with_warnings(response, warnings);
    for header in said {
        response.headers_mut().append(WARNING, header);
    }
    response
}

/// The response to `HEAD`: everything but the body.
pub(super) fn without_body(response: Response<Body>) -> Response<Body> {
    let (mut head, body) = response.into_parts();
    if let Some(length) = body.size_hint().exact() {
        head.headers.insert(CONTENT_LENGTH, length.into());
    }
    Response::from_parts(head, Body::whole(""))
}

/// Sets a header.
pub(crate) fn with(mut response: Response<Body>, name: HeaderName, value: &str) -> Response<Body> {
    if let Ok(value) = HeaderValue::from_str(value) {
        response.headers_mut().insert(name, value);
    }
    response
}

fn warning_header(text: &str) -> Option<HeaderValue> {
    let quoted: String = text
        .chars()
        .flat_map(|char| {
            let escape = matches!(char, '"' | '\\').then_some('\\');
            escape.into_iter().chain((!char.is_control()).then_some(char))
        })
        .collect();
    HeaderValue::from_bytes(format!("299 - \"{quoted}\"").as_bytes()).ok()
}

fn written(form: ResponseFormat, value: &Value) -> Result<Vec<u8>, Refusal> {
    let mut bytes = match (form.media, form.pretty) {
        (Media::Yaml, _) => return Ok(crate::yaml::write(value).into_bytes()),
        (Media::Protobuf, _) => return protobuf::encode(value),
        (Media::Json, true) => serde_json::to_vec_pretty(value),
        (Media::Json, false) => serde_json::to_vec(value),
    }
    .expect("a value is JSON");
    bytes.push(b'\n');
    Ok(bytes)
}
