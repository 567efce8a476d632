//! Writes that a quota allows, and those that it refuses.

use http::Method;
use machinery_apiserver::{ApiServer, Limits};
use machinery_store::{Memory, Options};
use serde_json::json;

use super::tools::{
    MAPS, PODS, QUOTA, QUOTAS, SECRETS, WIDGETS, exceeds, how_many, named, pod, quota, records, says, server,
    widget,
};
use crate::client::{Answer, Client};
use crate::controllers::gone;

/// Applies a config map.
async fn applied(client: &Client, name: &str, value: &str) -> Answer {
    let map =
        json!({"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": name}, "data": {"k": value}});
    let headers = [("content-type", "application/apply-patch+yaml")];
    let path = format!("{MAPS}/{name}?fieldManager=me");
    client.ask(Method::PATCH, &path, &headers, &map.to_string()).await
}

#[tokio::test]
async fn an_object_over_the_quota_is_refused_as_in_kubernetes() {
    let (_server, _, client) = server().await;
    client.post(QUOTAS, &quota(&json!({"count/secrets": "2"}))).await.fine();
    client.post(SECRETS, &named("a")).await.fine();
    client.post(SECRETS, &named("b")).await.fine();
    let refused = client.post(SECRETS, &named("c")).await;
    let message = r#"secrets "c" is forbidden: exceeded quota: q, requested: count/secrets=1, used: count/secrets=2, limited: count/secrets=2"#;
    assert_eq!(refused.refused(), (403, "Forbidden", message));
    assert_eq!(refused.body["details"], json!({"kind": "secrets", "name": "c"}));
    // Other kinds and updates are not counted, and deletions free capacity at once.
    client.post(MAPS, &named("c")).await.fine();
    client.merge(&format!("{SECRETS}/a"), &json!({"data": {"k": "dg=="}})).await.fine();
    client.delete(&format!("{SECRETS}/a")).await.fine();
    client.post(SECRETS, &named("c")).await.fine();
    exceeds(&client.post(SECRETS, &named("d")).await);
    client.delete(QUOTA).await.fine();
    client.post(SECRETS, &named("d")).await.fine();
}

#[tokio::test]
async fn several_exceeded_keys_are_reported_together_for_the_first_quota() {
    let (_server, _, client) = server().await;
    client.post(QUOTAS, &quota(&json!({"count/pods": "1", "pods": "1", "secrets": "9"}))).await.fine();
    let later = json!({"metadata": {"name": "r"}, "spec": {"hard": {"pods": "1"}}});
    client.post(QUOTAS, &later).await.fine();
    client.post(PODS, &pod("a")).await.fine();
    let refused = client.post(PODS, &pod("b")).await;
    let message = r#"pods "b" is forbidden: exceeded quota: q, requested: count/pods=1,pods=1, used: count/pods=1,pods=1, limited: count/pods=1,pods=1"#;
    assert_eq!(refused.refused(), (403, "Forbidden", message));
    client.delete(QUOTA).await.fine();
    let refused = client.post(PODS, &pod("b")).await;
    assert!(refused.refused().2.contains("exceeded quota: r"), "{refused:#?}");
}

#[tokio::test]
async fn finished_pods_are_not_counted() {
    let (_server, _, client) = server().await;
    client.post(QUOTAS, &quota(&json!({"pods": "1", "count/pods": "2"}))).await.fine();
    client.post(PODS, &pod("a")).await.fine();
    exceeds(&client.post(PODS, &pod("b")).await);
    client.merge(&format!("{PODS}/a/status"), &json!({"status": {"phase": "Failed"}})).await.fine();
    client.post(PODS, &pod("b")).await.fine();
    client.merge(&format!("{PODS}/b/status"), &json!({"status": {"phase": "Succeeded"}})).await.fine();
    let refused = client.post(PODS, &pod("c")).await;
    let counted = "requested: count/pods=1, used: count/pods=2, limited: count/pods=2";
    assert!(refused.refused().2.ends_with(counted), "{refused:#?}");
}

#[tokio::test]
async fn objects_of_every_kind_are_counted_on_every_write_path() {
    let (_server, _, client) = server().await;
    let hard = json!({"count/widgets.example.com": "1", "count/events.events.k8s.io": "1", "configmaps": "1", "resourcequotas": "1"});
    client.post(QUOTAS, &quota(&hard)).await.fine();
    client.post(WIDGETS, &widget("a")).await.fine();
    exceeds(&client.post(WIDGETS, &widget("b")).await);
    // Both forms of events are the same ones.
    let events = "/api/v1/namespaces/default/events";
    let about = json!({"involvedObject": {"namespace": "default"}});
    let event = |name: &str| {
        let mut event = about.clone();
        event["metadata"] = json!({"name": name, "namespace": "default"});
        event
    };
    client.post(events, &event("a")).await.fine();
    exceeds(&client.post(events, &event("b")).await);
    let new = json!({
        "metadata": {"name": "b"}, "regarding": {"namespace": "default"}, "eventTime": "2026-11-21T09:30:38.000000Z",
        "reportingController": "c", "reportingInstance": "i", "action": "A", "reason": "R", "type": "Normal",
    });
    exceeds(&client.post("/apis/events.k8s.io/v1/namespaces/default/events", &new).await);
    // Applied, and with a name that the server makes.
    assert_eq!(applied(&client, "a", "v").await.code, 201);
    exceeds(&applied(&client, "b", "v").await);
    assert_eq!(applied(&client, "a", "w").await.code, 200, "it is there already");
    exceeds(&client.post(MAPS, &json!({"metadata": {"generateName": "c-"}})).await);
    assert_eq!(how_many(&client, MAPS).await, 1);
    // Quotas are objects, too.
    let refused = client.post(QUOTAS, &named("r")).await;
    let message = r#"resourcequotas "r" is forbidden: exceeded quota: q, requested: resourcequotas=1, used: resourcequotas=1, limited: resourcequotas=1"#;
    assert_eq!(refused.refused().2, message);
}

#[tokio::test]
async fn a_dry_run_is_checked_and_uses_no_quota() {
    let (_server, _, client) = server().await;
    client.post(QUOTAS, &quota(&json!({"secrets": "1"}))).await.fine();
    let before = says(&client, QUOTA, json!({"hard": {"secrets": "1"}, "used": {"secrets": "0"}})).await;
    let dry = format!("{SECRETS}?dryRun=All");
    client.post(&dry, &named("a")).await.fine();
    client.post(&dry, &named("b")).await.fine();
    assert_eq!(client.get(QUOTA).await.fine(), before);
    client.post(SECRETS, &named("a")).await.fine();
    exceeds(&client.post(&dry, &named("b")).await);
}

#[tokio::test]
async fn a_quota_below_its_usage_refuses_only_creations() {
    let (_server, _, client) = server().await;
    for name in ["a", "b", "c"] {
        client.post(SECRETS, &named(name)).await.fine();
    }
    client.post(QUOTAS, &quota(&json!({"secrets": "1"}))).await.fine();
    says(&client, QUOTA, json!({"hard": {"secrets": "1"}, "used": {"secrets": "3"}})).await;
    let refused = client.post(SECRETS, &named("d")).await;
    assert!(refused.refused().2.ends_with("used: secrets=3, limited: secrets=1"), "{refused:#?}");
    client.merge(&format!("{SECRETS}/a"), &json!({"metadata": {"labels": {"a": "b"}}})).await.fine();
    for name in ["a", "b"] {
        client.delete(&format!("{SECRETS}/{name}")).await.fine();
        exceeds(&client.post(SECRETS, &named("d")).await);
    }
    client.merge(QUOTA, &json!({"spec": {"hard": {"secrets": "2"}}})).await.fine();
    client.post(SECRETS, &named("d")).await.fine();
}

#[tokio::test]
async fn deleting_a_namespace_deletes_its_quotas_and_their_record() {
    let (_server, store, client) = server().await;
    client.post("/api/v1/namespaces", &named("n")).await.fine();
    let at = |plural: &str| format!("/api/v1/namespaces/n/{plural}");
    for name in ["q", "r"] {
        let full = json!({"metadata": {"name": name}, "spec": {"hard": {"secrets": "1", "configmaps": "0"}}});
        client.post(&at("resourcequotas"), &full).await.fine();
    }
    client.post(&at("secrets"), &named("a")).await.fine();
    exceeds(&client.post(&at("configmaps"), &named("a")).await);
    client.post(SECRETS, &named("a")).await.fine();
    assert_eq!(records(&store).await, 1);
    client.delete(&format!("{}/r", at("resourcequotas"))).await.fine();
    assert_eq!(records(&store).await, 1);
    client.delete("/api/v1/namespaces/n").await.fine();
    gone(&client, "/api/v1/namespaces/n").await;
    assert_eq!(records(&store).await, 0);
    client.post("/api/v1/namespaces", &named("n")).await.fine();
    client.post(&at("configmaps"), &named("a")).await.fine();
}

#[tokio::test]
async fn the_number_of_quotas_in_a_namespace_is_limited() {
    let limits = Limits { quotas: 2, ..Limits::default() };
    let builder = ApiServer::builder(Memory::new(Options::default())).limits(limits);
    let server = builder.start().await.unwrap();
    let client = Client::of(&server);
    client.post(QUOTAS, &named("a")).await.fine();
    client.post(QUOTAS, &named("b")).await.fine();
    let refused = client.post(QUOTAS, &named("c")).await;
    let message = r#"resourcequotas "c" is forbidden: its namespace has 2 quotas, and may have 2: say it in one of them"#;
    assert_eq!(refused.refused(), (403, "Forbidden", message));
    assert_eq!(client.post(QUOTAS, &named("b")).await.code, 403);
    client.merge(&format!("{QUOTAS}/b"), &json!({"spec": {"hard": {"pods": "1"}}})).await.fine();
    client.delete(&format!("{QUOTAS}/a")).await.fine();
    client.post(QUOTAS, &named("c")).await.fine();
}
