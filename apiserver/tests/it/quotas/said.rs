//! Validation of quotas, and warnings about unenforced parts.

use http::{Method, Request};
use http_body_util::Full;
use serde_json::{Value, json};

use super::tools::{QUOTA, QUOTAS, quota, says, server};
use crate::client::Client;

const OBJECTS: &str = "this server counts objects, as in count/secrets or count/deployments.apps, and resources of pods, services and persistentvolumeclaims";

/// Returns the code and the warnings.
async fn warned(
    client: &Client,
    method: Method,
    path: &str,
    media: &str,
    body: &Value,
) -> (u16, Vec<String>) {
    let request = Request::builder().method(method).uri(path).header("content-type", media);
    let answer = client.send(request.body(Full::from(body.to_string())).unwrap()).await;
    let warnings = answer.headers().get_all("warning").iter();
    let text = |warning: &http::HeaderValue| {
        let text = warning.to_str().unwrap();
        text.strip_prefix("299 - \"").unwrap().strip_suffix('"').unwrap().to_owned()
    };
    (answer.status().as_u16(), warnings.map(text).collect())
}

#[tokio::test]
async fn a_writer_is_warned_of_unenforced_keys() {
    let (_server, _, client) = server().await;
    let (json, merge) = ("application/json", "application/merge-patch+json");
    let said = |key: &str, why: &str| format!("spec.hard[{key}]: is not enforced: {why}");
    let hard = json!({"secrets": "1", "example.com/gpu": "2", "count/gadgets.example.com": "1", "count/widgets.example.com": "1"});
    let gadgets = "no gadgets.example.com are served here; it will be when there are";
    let all = vec![said("count/gadgets.example.com", gadgets), said("example.com/gpu", OBJECTS)];
    let answer = warned(&client, Method::POST, &format!("{QUOTAS}?dryRun=All"), json, &quota(&hard)).await;
    assert_eq!(answer, (201, all.clone()));
    let answer = warned(&client, Method::POST, QUOTAS, json, &quota(&hard)).await;
    assert_eq!(answer, (201, all.clone()));
    let held = json!({"count/widgets.example.com": "0", "secrets": "0"});
    says(&client, QUOTA, json!({"hard": hard, "used": held})).await;
    let less = json!({"spec": {"hard": {"count/gadgets.example.com": null}}});
    let answer = warned(&client, Method::PATCH, QUOTA, merge, &less).await;
    assert_eq!(answer, (200, vec![said("example.com/gpu", OBJECTS)]));
    let status = json!({"status": {"used": {"secrets": "7"}}});
    assert_eq!(
        warned(&client, Method::PATCH, &format!("{QUOTA}/status"), merge, &status).await,
        (200, vec![])
    );
    // Applied, too.
    let applied = json!({"apiVersion": "v1", "kind": "ResourceQuota", "metadata": {"name": "applied"}, "spec": {"hard": {"example.com/fpga": "1"}}});
    let path = format!("{QUOTAS}/applied?fieldManager=me");
    let answer = warned(&client, Method::PATCH, &path, "application/apply-patch+yaml", &applied).await;
    assert_eq!(answer, (201, vec![said("example.com/fpga", OBJECTS)]));
}

#[tokio::test]
async fn the_scopes_of_a_quota_are_immutable() {
    let (_server, _, client) = server().await;
    let mut scoped = quota(&json!({"pods": "0"}));
    scoped["spec"]["scopes"] = json!(["BestEffort"]);
    let answer = warned(&client, Method::POST, QUOTAS, "application/json", &scoped).await;
    assert_eq!(answer, (201, vec![]));
    let changed = client.merge(QUOTA, &json!({"spec": {"scopes": []}})).await;
    let message = r#"ResourceQuota "q" is invalid: spec.scopes: Invalid value: []: field is immutable"#;
    assert_eq!(changed.refused(), (422, "Invalid", message));
}

#[tokio::test]
async fn an_invalid_quota_is_refused_as_in_kubernetes() {
    let (_server, _, client) = server().await;
    let refused = client.post(QUOTAS, &quota(&json!({"count/secrets": "-1", "gadgets": "1"}))).await;
    assert_eq!(refused.code, 422);
    let cause = |message: &str, field: &str| json!({"reason": "FieldValueInvalid", "message": message, "field": field});
    let causes = json!([
        cause(r#"Invalid value: "-1": must be greater than or equal to 0"#, "spec.hard[count/secrets]"),
        cause(
            r#"Invalid value: "gadgets": must be a standard resource type or fully qualified"#,
            "spec.hard[gadgets]"
        ),
        cause(r#"Invalid value: "gadgets": must be a standard resource for quota"#, "spec.hard[gadgets]"),
    ]);
    assert_eq!(refused.body["details"]["causes"], causes);
    client.post(QUOTAS, &quota(&json!({"secrets": "1"}))).await.fine();
    let broken =
        client.merge(&format!("{QUOTA}/status"), &json!({"status": {"used": {"secrets": "1.5"}}})).await;
    let message =
        r#"ResourceQuota "q" is invalid: status.used[secrets]: Invalid value: "1500m": must be an integer"#;
    assert_eq!(broken.refused(), (422, "Invalid", message));
}

#[tokio::test]
async fn quotas_are_found_as_kubectl_looks_for_them() {
    let (_server, _, client) = server().await;
    let resources = client.get("/api/v1").await.fine();
    let find = |name: &str| {
        resources["resources"].as_array().unwrap().iter().find(|one| one["name"] == name).cloned()
    };
    let quotas = find("resourcequotas").unwrap();
    assert_eq!((&quotas["shortNames"], &quotas["namespaced"]), (&json!(["quota"]), &json!(true)));
    assert!(find("resourcequotas/status").is_some());
    let document = client.get("/openapi/v3/api/v1").await.fine();
    let schemas = &document["components"]["schemas"];
    assert!(schemas["io.k8s.api.core.v1.ResourceQuotaSpec"]["properties"]["hard"].is_object());
    let old = client.get("/openapi/v2").await.fine();
    assert!(old["definitions"]["io.k8s.api.core.v1.ResourceQuota"].is_object());
}
