//! Validates `clientConfig`.

use http::Uri;
use serde_json::Value;

use super::validate::text;
use crate::invalid::{FieldError, Problem};
use crate::meta::names::dns_subdomain;

const FORM: &str = "; desired format: https://host[/path]";

pub(super) fn errors(client: &Value, field: &str) -> Vec<FieldError> {
    let there = |child: &str| client.get(child).filter(|value| !value.is_null());
    match (there("url"), there("service")) {
        (Some(url), None) => self::url(url.as_str().unwrap_or_default(), &format!("{field}.url")),
        (None, Some(of)) => service(of, &format!("{field}.service")),
        _ => vec![FieldError::new(field, Problem::Required, "exactly one of url or service is required")],
    }
}

fn url(url: &str, field: &str) -> Vec<FieldError> {
    let wrong = |value: &str, detail: String| FieldError::new(field, Problem::Invalid(value.into()), detail);
    let (before, fragment) = url.split_once('#').map_or((url, ""), |(before, after)| (before, after));
    let Ok(parsed) = before.parse::<Uri>() else {
        return vec![FieldError::new(field, Problem::Required, format!("url must be a valid URL{FORM}"))];
    };
    let mut errors = Vec::new();
    if parsed.scheme_str() != Some("https") {
        let scheme = parsed.scheme_str().unwrap_or_default();
        errors.push(wrong(scheme, format!("'https' is the only allowed URL scheme{FORM}")));
    }
    let authority = parsed.authority().map(http::uri::Authority::as_str).unwrap_or_default();
    if parsed.host().unwrap_or_default().is_empty() {
        errors.push(wrong("", format!("host must be specified{FORM}")));
    }
    if let Some((user, _)) = authority.rsplit_once('@') {
        errors.push(wrong(user, "user information is not permitted in the URL".into()));
    }
    if !fragment.is_empty() {
        errors.push(wrong(fragment, "fragments are not permitted in the URL".into()));
    }
    if let Some(query) = parsed.query().filter(|query| !query.is_empty()) {
        errors.push(wrong(query, "query parameters are not permitted in the URL".into()));
    }
    errors
}

fn service(service: &Value, field: &str) -> Vec<FieldError> {
    let mut errors = Vec::new();
    for child in ["name", "namespace"] {
        if text(service, child).is_empty() {
            let detail = format!("service {child} is required");
            errors.push(FieldError::new(format!("{field}.{child}"), Problem::Required, detail));
        }
    }
    if let Some(port) = service.get("port").and_then(Value::as_i64)
        && !(1..=65_535).contains(&port)
    {
        let detail = "port is not valid: must be between 1 and 65535, inclusive";
        errors.push(FieldError::new(format!("{field}.port"), Problem::Invalid(port.into()), detail));
    }
    let path = text(service, "path");
    let wrong = |why: String| FieldError::new(format!("{field}.path"), Problem::Invalid(path.into()), why);
    match path {
        "" | "/" => {}
        "//" => errors.push(wrong("segment[0] may not be empty".into())),
        _ if !path.starts_with('/') => errors.push(wrong("must start with a '/'".into())),
        _ => {
            let segments = path[1..].strip_suffix('/').unwrap_or(&path[1..]).split('/').enumerate();
            errors.extend(segments.flat_map(|(at, segment)| match segment {
                "" => vec![wrong(format!("segment[{at}] may not be empty"))],
                _ => {
                    let said = dns_subdomain(segment).into_iter();
                    said.map(|why| wrong(format!("segment[{at}]: {why}"))).collect()
                }
            }));
        }
    }
    errors
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[track_caller]
    fn check(client: Value, expected: &[&str]) {
        let said: Vec<String> = errors(&client, "c").iter().map(ToString::to_string).collect();
        assert_eq!(said, expected, "{client}");
    }

    #[test]
    fn exactly_one_of_url_and_service_is_required() {
        let neither = ["c: Required value: exactly one of url or service is required"];
        check(json!({}), &neither);
        check(json!({"url": "https://a", "service": {"name": "a", "namespace": "b"}}), &neither);
        for url in
            ["https://a", "https://a.example.com:8443/b/c", "https://127.0.0.1:1/", "https://[::1]:4/a"]
        {
            check(json!({"url": url}), &[]);
        }
    }

    #[test]
    fn a_url_is_https_without_user_query_or_fragment() {
        let https = "c.url: Invalid value: \"http\": 'https' is the only allowed URL scheme; desired format: https://host[/path]";
        check(json!({"url": "http://a"}), &[https]);
        check(
            json!({"url": "https://u:p@a/b?c=d#e"}),
            &[
                "c.url: Invalid value: \"u:p\": user information is not permitted in the URL",
                "c.url: Invalid value: \"e\": fragments are not permitted in the URL",
                "c.url: Invalid value: \"c=d\": query parameters are not permitted in the URL",
            ],
        );
    }

    #[test]
    fn a_service_needs_name_and_namespace() {
        check(
            json!({"service": {"path": "//a/"}}),
            &[
                "c.service.name: Required value: service name is required",
                "c.service.namespace: Required value: service namespace is required",
                "c.service.path: Invalid value: \"//a/\": segment[0] may not be empty",
            ],
        );
        let port =
            "c.service.port: Invalid value: 0: port is not valid: must be between 1 and 65535, inclusive";
        check(json!({"service": {"name": "a", "namespace": "b", "port": 0}}), &[port]);
    }
}
