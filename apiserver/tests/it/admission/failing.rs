//! Failing webhooks, and their failure policies.

use serde_json::{Value, json};

use super::hook::{Hook, Reply, configure, mutating, patched, validating, webhook};
use super::{WIDGETS, widget};
use crate::client::widgets;

fn review(response: &Value) -> Reply {
    let review =
        json!({"apiVersion": "admission.k8s.io/v1", "kind": "AdmissionReview", "response": response});
    Reply::Bytes(200, review.to_string().into_bytes())
}

/// The failure of each webhook, and the error message.
fn failing(path: &str, asked: &Value) -> Reply {
    let uid = &asked["request"]["uid"];
    match path.split('?').next().unwrap() {
        "/hangs" => Reply::Nothing,
        "/ends" => Reply::End,
        "/garbage" => Reply::Bytes(200, b"\xff{".to_vec()),
        "/much" => Reply::Bytes(200, vec![b' '; (3 << 20) + 1]),
        "/fails" => Reply::Bytes(500, b"oh".to_vec()),
        "/redirects" => Reply::Bytes(307, Vec::new()),
        "/other-uid" => review(&json!({"uid": "other", "allowed": true})),
        "/no-uid" => review(&json!({"allowed": true})),
        "/no-response" => review(&Value::Null),
        "/other-version" => Reply::Bytes(200, json!({"apiVersion": "admission.k8s.io/v2", "kind": "AdmissionReview", "response": {"uid": uid, "allowed": true}}).to_string().into_bytes()),
        "/no-type" => review(&json!({"uid": uid, "allowed": true, "patch": "W10="})),
        "/no-patch" => review(&json!({"uid": uid, "allowed": true, "patchType": "JSONPatch"})),
        "/other-type" => review(&json!({"uid": uid, "allowed": true, "patchType": "Merge", "patch": "W10="})),
        "/no-base64" => review(&json!({"uid": uid, "allowed": true, "patchType": "JSONPatch", "patch": "%"})),
        "/unread" => review(&json!({"uid": uid, "allowed": true, "patchType": "JSONPatch", "patch": "bm8="})),
        "/typed" => review(&json!({"uid": uid, "allowed": "yes"})),
        _ => patched(&json!([{"op": "add", "path": "/spec/size", "value": 7}])),
    }
}

const ALL: [(&str, &str); 16] = [
    ("/hangs", "did not answer within 1 seconds"),
    ("/ends", "did not answer"),
    ("/garbage", "received invalid webhook response: it is no JSON"),
    ("/much", "is longer than 3145728 bytes"),
    ("/fails", "answered 500"),
    ("/redirects", "answered 307"),
    ("/other-uid", "expected response.uid="),
    ("/no-uid", "expected response.uid="),
    ("/no-response", "webhook response was absent"),
    ("/other-version", "expected webhook response of admission.k8s.io/v1, Kind=AdmissionReview"),
    ("/no-type", "webhook returned response.patch but not response.patchType"),
    ("/no-patch", "webhook returned response.patchType but not response.patch"),
    ("/other-type", "webhook returned invalid response.patchType of \"Merge\""),
    ("/no-base64", "response.patch is no base64"),
    ("/unread", "response.patch cannot be read"),
    ("/typed", "response.allowed is neither true nor false"),
];

#[tokio::test]
async fn a_failing_mutating_webhook_has_the_effect_of_its_failure_policy() {
    let hook = Hook::new(failing).await;
    for (path, why) in ALL {
        for policy in ["Fail", "Ignore"] {
            let (_server, client) = widgets().await;
            let fails =
                webhook("fails", &hook.at(path), &json!({"failurePolicy": policy, "timeoutSeconds": 1}));
            let works = webhook("works", &hook.at("/works"), &json!({}));
            configure(&client, &mutating("all", &[fails, works])).await;
            let answer = client.post(WIDGETS, &widget("a", &json!({}))).await;
            match policy {
                "Ignore" => assert_eq!(answer.fine()["spec"]["size"], 7, "{path}: the others are asked"),
                _ => {
                    let (code, reason, message) = answer.refused();
                    assert_eq!((code, reason), (500, "InternalError"), "{path}");
                    let begins = "Internal error occurred: failed calling webhook \"fails.example.com\": ";
                    assert!(message.starts_with(begins) && message.contains(why), "{path}: {message}");
                    assert_eq!(client.get(&format!("{WIDGETS}/a")).await.code, 404);
                }
            }
        }
    }
}

/// It could make the server send requests to hosts that only the server reaches.
#[tokio::test]
async fn redirects_of_a_webhook_are_not_followed() {
    let hook = Hook::new(failing).await;
    let (_server, client) = widgets().await;
    configure(&client, &mutating("all", &[webhook("all", &hook.at("/redirects"), &json!({}))])).await;
    let (code, ..) = client.post(WIDGETS, &widget("a", &json!({}))).await.refused();
    assert_eq!(code, 500);
    let paths = hook.paths();
    assert!(paths.len() == 1 && paths[0].starts_with("/redirects"), "{paths:?}");
}

#[tokio::test]
async fn a_failing_validating_webhook_has_the_effect_of_its_failure_policy() {
    let hook = Hook::new(failing).await;
    let gone = {
        let hook = Hook::allowing().await;
        hook.at("/")
    };
    for (at, why) in [(hook.at("/hangs"), "did not answer within"), (gone, "cannot connect to")] {
        for (policy, code) in [("Fail", 500), ("Ignore", 201)] {
            let (_server, client) = widgets().await;
            let more = json!({"failurePolicy": policy, "timeoutSeconds": 1});
            configure(&client, &validating("all", &[webhook("fails", &at, &more)])).await;
            let answer = client.post(WIDGETS, &widget("a", &json!({}))).await;
            assert_eq!(answer.code, code, "{answer:?}");
            assert!(code == 201 || answer.refused().2.contains(why), "{answer:?}");
            let told = client.get("/metrics").await.body.to_string();
            assert!(told.contains("machinery_refused_total{why=\\\"failed_webhook\\\"} 1"), "{told}");
        }
    }
}

#[tokio::test]
async fn a_closed_connection_to_a_webhook_is_replaced() {
    let hook = Hook::new(|_, review| match review["request"]["name"] == "last" {
        true => Reply::End,
        false => Reply::Response(json!({"allowed": true})),
    })
    .await;
    let (_server, client) = widgets().await;
    let ignored = json!({"failurePolicy": "Ignore"});
    configure(&client, &validating("all", &[webhook("all", &hook.at("/"), &ignored)])).await;
    client.post(WIDGETS, &widget("a", &json!({}))).await.fine();
    // A kept connection fails with this, and so does a new one: two attempts at most.
    client.post(WIDGETS, &widget("last", &json!({}))).await.fine();
    assert_eq!(hook.seen().iter().filter(|request| request["name"] == "last").count(), 2);
    client.post(WIDGETS, &widget("b", &json!({}))).await.fine();
    assert_eq!(hook.connections(), 3);
}
