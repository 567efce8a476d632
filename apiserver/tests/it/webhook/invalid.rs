//! Reviews that are none.

use machinery_apiserver::{AdmissionHooks, KindOf, WebhookLimits};
use serde_json::{Value, json};

use super::fixture::{Files, WebhookAuthority, review, run};
use crate::typed::Widget;

#[tokio::test]
async fn invalid_reviews_are_refused_with_the_remedy_and_change_nothing() {
    let authority = WebhookAuthority::new("a");
    let files = Files::new(&authority);
    let limits = WebhookLimits { body_bytes: 1 << 20, values: 1000, ..WebhookLimits::default() };
    let hooks = AdmissionHooks::new("widgets.example.com").kind(KindOf::<Widget>::new());
    let webhook = run(hooks, files.tls(), limits).await;
    let with = |pointer: &str, value: Value| {
        let mut review = review("a", &json!({}));
        *review.pointer_mut(pointer).unwrap() = value;
        review.to_string()
    };
    let deep = format!("{}{}", "[".repeat(500), "]".repeat(500));
    let cases = [
        (String::new(), 400, "the body is no JSON"),
        ("{\"request\":".into(), 400, "the body is no JSON"),
        ("\u{fffd}\0".into(), 400, "the body is no JSON"),
        (deep, 400, "the body is no JSON: recursion limit exceeded"),
        ("[]".into(), 400, "expected an AdmissionReview of admission.k8s.io/v1"),
        (
            with("/apiVersion", json!("admission.k8s.io/v1beta1")),
            400,
            "list only v1 in the admissionReviewVersions",
        ),
        (with("/request/uid", json!(null)), 400, "request.uid is absent"),
        (with("/request/operation", json!("CONNECT")), 400, "remove it from the rules"),
        (with("/request/object", json!("x")), 400, "request.object is no object"),
        (with("/request/object/spec", json!(vec![1; 2000])), 400, "raise WebhookLimits::values"),
        (with("/request/object/spec", json!("x".repeat(2 << 20))), 413, "longer than 1048576 bytes"),
    ];
    for path in ["/mutate", "/validate"] {
        for (body, code, expected) in &cases {
            let (found, text) = webhook.post(&authority.pem, path, body.clone()).await;
            assert!(found == *code && text.contains(expected), "{expected}: {found} {text}");
        }
    }
    let (code, text) = webhook.get(&authority.pem, "/mutate").await;
    assert_eq!((code, text.as_str()), (405, "send a review by POST\n"));
    let (code, text) = webhook.post(&authority.pem, "/nowhere", "{}").await;
    assert!(code == 404 && text.contains("/mutate, /validate"), "{text}");
    webhook.review(&authority.pem, "/validate", &review("a", &json!({}))).await;

    // An answer that the hooks accept, and one with an object that is no `Widget`.
    let answer = webhook.review(&authority.pem, "/validate", &review("a", &json!({"size": "nine"}))).await;
    assert_eq!((&answer["allowed"], &answer["status"]["code"]), (&false.into(), &422.into()), "{answer}");
    let page = webhook.metrics.page();
    for (name, count) in [
        ("refused_total{reason=\"malformed\"}", 20),
        ("refused_total{reason=\"too_long\"}", 2),
        ("reviews_total{phase=\"validate\",outcome=\"allowed\"}", 1),
        ("reviews_total{phase=\"validate\",outcome=\"denied\"}", 1),
    ] {
        assert!(page.contains(&format!("machinery_webhook_{name} {count}\n")), "{name}: {page}");
    }
    let (code, served) = webhook.get(&authority.pem, "/metrics").await;
    assert!(code == 200 && served.contains("machinery_webhook_review_duration_seconds_bucket"), "{served}");
    webhook.stop().await;
}
