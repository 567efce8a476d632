use std::fmt::Debug;

use serde_json::json;

use super::*;

fn of(code: u16, body: &str) -> Refusal {
    let status = StatusCode::from_u16(code).unwrap();
    Refusal::of_answer(status, &HeaderMap::new(), body.as_bytes())
}

fn status(code: u16, reason: &str, details: &serde_json::Value) -> Refusal {
    let body = json!({
        "kind": "Status", "apiVersion": "v1", "metadata": {}, "status": "Failure",
        "message": "m", "reason": reason, "code": code, "details": details,
    });
    of(code, &body.to_string())
}

fn m() -> String {
    "m".into()
}

#[test]
fn every_status_maps_to_an_error_by_its_remedy() {
    fn check<T: PartialEq + Debug>(found: T, expected: T) {
        assert_eq!(found, expected);
    }
    let none = &json!(null);
    let later = json!({"retryAfterSeconds": 3});
    let retry_after = Some(Duration::from_secs(3));
    let source = |code, reason, details| status(code, reason, details).source_error();
    check(source(401, "Unauthorized", none), SourceError::Unauthorized { reason: m() });
    check(source(403, "Forbidden", none), SourceError::Forbidden { reason: m() });
    check(source(404, "NotFound", none), SourceError::NotServed { reason: m() });
    check(source(405, "MethodNotAllowed", none), SourceError::NotServed { reason: m() });
    check(source(429, "TooManyRequests", &later), SourceError::TooManyRequests { retry_after });
    check(source(503, "ServiceUnavailable", &later), SourceError::Unavailable { reason: m(), retry_after });
    check(source(500, "InternalError", none), SourceError::Unavailable { reason: m(), retry_after: None });
    check(source(504, "Timeout", none), SourceError::TimedOut);
    check(source(302, "", none), SourceError::Malformed { reason: m() });
    let causes = json!({"causes": [
        {"reason": "FieldValueInvalid", "message": "wrong", "field": "spec.x"}, {"reason": "Lone"}, {"message": null},
    ]});
    let field = |field: &str, reason: &str| InvalidField { field: field.into(), reason: reason.into() };
    let causes = &causes;
    check(
        source(422, "Invalid", causes),
        SourceError::Invalid {
            reason: m(),
            causes: vec![field("spec.x", "wrong"), field("", "Lone"), field("", "")],
        },
    );
    check(source(400, "BadRequest", none), SourceError::Invalid { reason: m(), causes: Vec::new() });

    let expired = r#"{"kind": "Status", "metadata": {"continue": "on"}, "reason": "Expired", "code": 410}"#;
    check(of(410, expired).list_error(), ListError::Expired { rest: Continue::new("on") });
    check(of(410, "Gone").watch_error(), WatchError::Expired);
    let future = json!({
        "kind": "Status", "code": 504, "reason": "Timeout", "message": "Too large resource version: 9, current: 7",
        "details": {"causes": [{"reason": "ResourceVersionTooLarge"}], "retryAfterSeconds": 1},
    });
    let future = || of(504, &future.to_string());
    let (newest, retry_after) = (ResourceVersion::new("7"), Some(Duration::from_secs(1)));
    check(future().list_error(), ListError::FutureRevision { newest: newest.clone(), retry_after });
    check(future().watch_error(), WatchError::FutureRevision { newest, retry_after });
}

#[test]
fn a_refused_write_tells_whether_its_outcome_is_unknown() {
    let check = |refusal: Refusal, expected: WriteError| assert_eq!(refusal.write_error(None), expected);
    let none = &json!(null);
    let unknown = || WriteError::UnknownOutcome { reason: m() };
    check(status(409, "AlreadyExists", none), WriteError::AlreadyExists { uid: None });
    check(status(409, "Conflict", none), WriteError::Conflict(Conflict::Unspecified { reason: m() }));
    check(status(404, "NotFound", &json!({"name": "a", "kind": "hosts"})), WriteError::NotFound);
    check(status(404, "NotFound", none), SourceError::NotServed { reason: m() }.into());
    check(
        status(503, "ServiceUnavailable", none),
        SourceError::Unavailable { reason: m(), retry_after: None }.into(),
    );
    check(status(429, "TooManyRequests", none), SourceError::TooManyRequests { retry_after: None }.into());
    for (code, reason) in [(500, "InternalError"), (504, "Timeout"), (408, "Timeout"), (503, "Other")] {
        check(status(code, reason, none), unknown());
    }
    // The response of a proxy: the server behind it may have committed the write.
    for code in [502, 503] {
        let error = of(code, "<html>upstream</html>").write_error(None);
        assert!(matches!(error, WriteError::UnknownOutcome { .. }), "{error}");
    }
    let guard = json!({"causes": [{"reason": "FieldValueInvalid"}, {"reason": "GuardRefused", "message": "disjoint"}]});
    check(
        status(422, "Invalid", &guard),
        WriteError::Conflict(Conflict::Guard { guard: "disjoint".into(), reason: m() }),
    );
}

#[test]
fn a_stale_fence_is_the_fence_of_the_request() {
    let kind =
        machinery_objects::Kind::new("v1", "ConfigMap", "configmaps", machinery_objects::Scope::Namespaced);
    let fence = Fence {
        kind: kind.unwrap(),
        key: "n/a".parse().unwrap(),
        uid: machinery_objects::Uid::new("u").unwrap(),
        epoch: None,
        besides: None,
    };
    let stale = json!({"causes": [{"reason": "FenceStale", "field": "Machinery-Fence"}]});
    let expected = WriteError::Conflict(Conflict::Fence(Box::new(fence.clone())));
    assert_eq!(status(409, "Conflict", &stale).write_error(Some(&fence)), expected);
}

#[test]
fn a_body_other_than_a_status_is_quoted_and_cut() {
    let long = format!("<html>{}", "x".repeat(100_000));
    let error = of(502, &long).source_error();
    let SourceError::Unavailable { reason, .. } = error else { panic!("{error}") };
    assert!(reason.starts_with("HTTP 502 Bad Gateway: <html>xxx") && reason.len() < 300, "{reason}");
    assert_eq!(of(404, "404 page not found").source_error().to_string().matches("page not found").count(), 1);
    for text in ["", "null", "[]", "{\"kind\": 3}", "{\"kind\": \"Host\"}", "\u{0}"] {
        assert!(!of(404, text).is_of_an_absent_object());
    }
    let mut headers = HeaderMap::new();
    for (value, expected) in
        [("7", Some(7)), ("-1", None), ("tomorrow", None), ("99999999999999999999", None)]
    {
        headers.insert(header::RETRY_AFTER, value.parse().unwrap());
        let refusal = Refusal::of_answer(StatusCode::TOO_MANY_REQUESTS, &headers, b"");
        let retry_after = expected.map(Duration::from_secs);
        assert_eq!(refusal.source_error(), SourceError::TooManyRequests { retry_after });
    }
}
