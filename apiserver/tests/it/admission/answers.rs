//! The effects of webhook responses on clients.

use http::Request;
use http_body_util::{BodyExt as _, Full};
use serde_json::{Value, json};

use super::hook::{Hook, Reply, configure, mutating, validating, webhook};
use super::{WIDGETS, widget};
use crate::client::widgets;

#[tokio::test]
async fn a_denial_has_the_message_and_reason_of_the_webhook() {
    let hook = Hook::new(|_, review| {
        let status = review["request"]["object"]["spec"]["tags"][0].as_str().unwrap();
        let status: Value = serde_json::from_str(status).unwrap();
        Reply::Response(json!({"allowed": false, "status": status}))
    })
    .await;
    let (_server, client) = widgets().await;
    configure(&client, &validating("all", &[webhook("says", &hook.at("/"), &json!({}))])).await;
    for (status, expected) in [
        (json!(null), (400, "", " without explanation")),
        (json!({"message": "at most 3"}), (400, "", ": at most 3")),
        (json!({"message": "no", "reason": "Forbidden", "code": 403}), (403, "Forbidden", ": no")),
        (json!({"reason": "Because", "code": 422}), (422, "Because", ": Because")),
        (json!({"message": "fine", "code": 200, "status": "Success"}), (400, "", ": fine")),
        (json!({"message": "x", "code": 99999}), (400, "", ": x")),
    ] {
        let refused = client.post(WIDGETS, &widget("a", &json!({"tags": [status.to_string()]}))).await;
        let (code, reason, end) = expected;
        let message = format!("admission webhook \"says.example.com\" denied the request{end}");
        assert_eq!(refused.refused(), (code, reason, message.as_str()), "{status}");
        assert_eq!(refused.body["status"], "Failure");
    }
    let cause = json!({"reason": "FieldValueInvalid", "message": "too much", "field": "spec.size"});
    let status = json!({"message": "no", "code": 422, "reason": "Invalid", "details": {"name": "a", "causes": [cause]}});
    let refused = client.post(WIDGETS, &widget("a", &json!({"tags": [status.to_string()]}))).await;
    assert_eq!(refused.body["details"], json!({"name": "a", "causes": [cause]}));
    assert_eq!(client.get(WIDGETS).await.fine()["items"], json!([]));
}

#[tokio::test]
async fn of_several_denials_the_first_is_returned() {
    let hook = Hook::new(|path, _| {
        Reply::Response(
            json!({"allowed": path.starts_with("/a"), "status": {"message": path.split('?').next()}}),
        )
    })
    .await;
    let (_server, client) = widgets().await;
    let hooks: Vec<Value> =
        ["a", "b", "c"].iter().map(|name| webhook(name, &hook.at(&format!("/{name}")), &json!({}))).collect();
    configure(&client, &validating("all", &hooks)).await;
    let refused = client.post(WIDGETS, &widget("a", &json!({}))).await;
    assert_eq!(refused.refused().2, "admission webhook \"b.example.com\" denied the request: /b");
    assert_eq!(hook.seen().len(), 3, "all are asked");
}

/// The warnings of an answer.
async fn warned(client: &crate::client::Client, name: &str) -> (u16, Vec<String>) {
    let request = Request::post(WIDGETS).header("content-type", "application/json");
    let body = Full::from(widget(name, &json!({"unknown": 1})).to_string());
    let (head, body) = client.send(request.body(body).unwrap()).await.into_parts();
    body.collect().await.unwrap();
    let warnings = head.headers.get_all("warning").iter().map(|value| value.to_str().unwrap().to_owned());
    (head.status.as_u16(), warnings.collect())
}

#[tokio::test]
async fn warnings_reach_the_client_of_allowed_and_denied_requests() {
    let hook = Hook::new(|_, review| {
        let request = &review["request"];
        match request["name"].as_str().unwrap() {
            "long" => Reply::Response(json!({"allowed": true, "warnings": vec!["x".repeat(300); 1]})),
            "many" => {
                let warnings: Vec<String> = (10..40).map(|at| format!("{at}{}", "x".repeat(298))).collect();
                Reply::Response(json!({"allowed": true, "warnings": warnings}))
            }
            name => Reply::Response(json!({"allowed": name == "a", "warnings": ["old", "say \"new\""]})),
        }
    })
    .await;
    let (_server, client) = widgets().await;
    configure(&client, &mutating("all", &[webhook("warns", &hook.at("/"), &json!({}))])).await;
    let said = ["299 - \"unknown field \\\"spec.unknown\\\"\"", "299 - \"old\"", "299 - \"say \\\"new\\\"\""];
    assert_eq!(warned(&client, "a").await, (201, said.map(str::to_owned).to_vec()));
    assert_eq!(warned(&client, "b").await, (400, said.map(str::to_owned).to_vec()));
    let (code, long) = warned(&client, "long").await;
    assert_eq!((code, long[1].len()), (201, 300 + "299 - \"\"".len()));
    let (code, many) = warned(&client, "many").await;
    assert_eq!((code, many.len()), (201, 1 + 4096 / 256));
    assert!(many[1..].iter().all(|one| one.len() == 256 + "299 - \"\"".len()));
}

#[tokio::test]
async fn a_dry_run_is_reviewed_as_a_dry_run() {
    let hook = Hook::allowing().await;
    let (_server, client) = widgets().await;
    let harmless = json!({"sideEffects": "NoneOnDryRun"});
    configure(&client, &validating("all", &[webhook("dry", &hook.at("/"), &harmless)])).await;
    client.post(&format!("{WIDGETS}?dryRun=All"), &widget("a", &json!({}))).await.fine();
    assert_eq!(hook.seen()[0]["dryRun"], true);
    assert_eq!(client.get(&format!("{WIDGETS}/a")).await.code, 404);
}
