//! Responses: status, headers, body.

use http::header::{
    CACHE_CONTROL, CONTENT_LENGTH, CONTENT_TYPE, HeaderName, HeaderValue, RETRY_AFTER, WARNING,
    WWW_AUTHENTICATE,
};
use http::{HeaderMap, Response, StatusCode};
use http_body::Body as _;
use serde_json::Value;

use super::Body;
use crate::accept::{Media, ResponseFormat};
use crate::bounded::all_warnings;
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
    put_warnings(headers, &[], &refusal.warnings);
    if refusal.code == 401 {
        headers.insert(WWW_AUTHENTICATE, HeaderValue::from_static(r#"Bearer realm="machinery""#));
    }
    response
}

/// 404 for an unknown path, in plain text as in Kubernetes.
pub(crate) fn nothing_there() -> Response<Body> {
    bytes(404, "text/plain; charset=utf-8", Body::whole("404 page not found\n"))
}

/// Appends `Warning` headers, within Kubernetes' limits of all warnings of a response. Characters
/// that a header cannot hold are omitted.
pub(crate) fn with_warnings(mut response: Response<Body>, warnings: &[String]) -> Response<Body> {
    put_warnings(response.headers_mut(), &[], warnings);
    response
}

/// Inserts `Warning` headers before existing ones.
pub(crate) fn with_first_warnings(mut response: Response<Body>, warnings: &[String]) -> Response<Body> {
    put_warnings(response.headers_mut(), warnings, &[]);
    response
}

/// Puts warnings before and after the existing ones.
fn put_warnings(headers: &mut HeaderMap, first: &[String], last: &[String]) {
    if first.is_empty() && last.is_empty() {
        return;
    }
    let existing: Vec<String> = headers.get_all(WARNING).iter().filter_map(warning_text).collect();
    headers.remove(WARNING);
    let all = first.iter().chain(&existing).chain(last).map(String::as_str);
    for warning in all_warnings(all).into_iter().filter_map(warning_header) {
        headers.append(WARNING, warning);
    }
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

/// Returns the text of a header made by `warning_header`.
fn warning_text(header: &HeaderValue) -> Option<String> {
    let text = std::str::from_utf8(header.as_bytes()).ok()?;
    let quoted = text.strip_prefix("299 - \"")?.strip_suffix('"')?;
    let mut chars = quoted.chars();
    let unescaped = std::iter::from_fn(|| match chars.next()? {
        '\\' => chars.next(),
        other => Some(other),
    });
    Some(unescaped.collect())
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

#[cfg(test)]
mod tests {
    use super::*;

    fn warnings(response: &Response<Body>) -> Vec<String> {
        response.headers().get_all(WARNING).iter().filter_map(warning_text).collect()
    }

    #[test]
    fn warnings_keep_their_order_and_text() {
        let texts = |texts: &[&str]| texts.iter().map(ToString::to_string).collect::<Vec<_>>();
        let response = bytes(200, "text/plain", Body::whole(""));
        let response = with_warnings(response, &texts(&["b \"quoted\" \\", "c"]));
        let response = with_first_warnings(response, &texts(&["a"]));
        let response = with_warnings(response, &texts(&["d", "c"]));
        assert_eq!(warnings(&response), ["a", "b \"quoted\" \\", "c", "d"]);
        let first = response.headers().get_all(WARNING).iter().nth(1).unwrap();
        assert_eq!(first, r#"299 - "b \"quoted\" \\""#);
    }

    #[test]
    fn warnings_of_a_response_are_bounded_in_number_and_bytes() {
        let many: Vec<String> = (0..50_000).map(|at| format!("{at} {}", "x".repeat(1000))).collect();
        let refusal = Refusal::bad_request("no").warning(&many);
        let response = refused(&refusal, ResponseFormat::default());
        let response = with_warnings(response, &many);
        let sent = warnings(&response);
        assert!(sent.len() <= 17 && sent.iter().all(|text| text.len() == 256), "{}", sent.len());
    }
}
