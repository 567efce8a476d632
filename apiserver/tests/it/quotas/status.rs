//! The status of a quota.

use http::Method;
use machinery_apiserver::ApiServer;
use machinery_store::{Backend, Memory, Options, Transaction};
use serde_json::json;

use super::tools::{
    MAPS, PODS, QUOTA, QUOTAS, SECRETS, WIDGETS, exceeds, named, on, pod, quota, says, server, widget,
};
use crate::client::{Client, definition};
use crate::controllers::gone;

const CRD: &str = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions";

#[tokio::test]
async fn an_acknowledged_object_is_counted() {
    let (_server, _, client) = server().await;
    client.post(QUOTAS, &quota(&json!({"secrets": "1k", "example.com/gpu": "2"}))).await.fine();
    for number in 1..=3 {
        client.post(SECRETS, &named(&format!("s{number}"))).await.fine();
        let quota = client.get(QUOTA).await.fine();
        let hard = json!({"secrets": "1k", "example.com/gpu": "2"});
        let status = json!({"hard": hard, "used": {"secrets": number.to_string()}});
        assert_eq!(quota["status"], status, "and no usage of keys that are not enforced");
        assert_eq!(quota["spec"]["hard"], json!({"secrets": "1k", "example.com/gpu": "2"}));
    }
    let quota = client.get(QUOTA).await.fine();
    let entries = quota["metadata"]["managedFields"].as_array().unwrap();
    let own = entries.iter().find(|entry| entry["manager"] == "machinery").unwrap();
    assert_eq!(own["subresource"], "status");
}

#[tokio::test]
async fn a_deleted_object_is_no_longer_counted() {
    let (_server, _, client) = server().await;
    for name in ["a", "b", "c"] {
        client.post(SECRETS, &named(name)).await.fine();
    }
    client.post(QUOTAS, &quota(&json!({"secrets": "5", "configmaps": "5", "pods": "5"}))).await.fine();
    let status = |secrets: &str, pods: &str| {
        let hard = json!({"configmaps": "5", "pods": "5", "secrets": "5"});
        json!({"hard": hard, "used": {"configmaps": "0", "pods": pods, "secrets": secrets}})
    };
    says(&client, QUOTA, status("3", "0")).await;
    client.delete(&format!("{SECRETS}/a")).await.fine();
    says(&client, QUOTA, status("2", "0")).await;
    client.delete(SECRETS).await.fine();
    says(&client, QUOTA, status("0", "0")).await;
    // An object that waits for its finalizer still counts.
    let held = json!({"metadata": {"name": "held", "finalizers": ["example.com/hold"]}});
    client.post(SECRETS, &held).await.fine();
    client.delete(&format!("{SECRETS}/held")).await.fine();
    client.post(PODS, &pod("a")).await.fine();
    says(&client, QUOTA, status("1", "1")).await;
    client.merge(&format!("{PODS}/a/status"), &json!({"status": {"phase": "Succeeded"}})).await.fine();
    says(&client, QUOTA, status("1", "0")).await;
    client.merge(&format!("{PODS}/a/status"), &json!({"status": {"phase": "Running"}})).await.fine();
    says(&client, QUOTA, status("1", "1")).await;
    client.merge(&format!("{SECRETS}/held"), &json!({"metadata": {"finalizers": null}})).await.fine();
    says(&client, QUOTA, status("0", "1")).await;
}

#[tokio::test]
async fn the_status_follows_the_spec_and_foreign_writes_are_corrected() {
    let (_server, _, client) = server().await;
    client.post(SECRETS, &named("a")).await.fine();
    client.post(QUOTAS, &quota(&json!({"secrets": "5"}))).await.fine();
    let right = json!({"hard": {"secrets": "5"}, "used": {"secrets": "1"}});
    says(&client, QUOTA, right.clone()).await;
    let wrong = json!({"status": {"hard": {"secrets": "5", "pods": "7"}, "used": {"secrets": "4"}}});
    client.merge(&format!("{QUOTA}/status"), &wrong).await.fine();
    says(&client, QUOTA, right).await;
    client.merge(QUOTA, &json!({"spec": {"hard": {"secrets": null, "configmaps": "1"}}})).await.fine();
    says(&client, QUOTA, json!({"hard": {"configmaps": "1"}, "used": {"configmaps": "0"}})).await;
    client
        .merge(QUOTA, &json!({"spec": {"hard": {"configmaps": null, "example.com/gpu": "1"}}}))
        .await
        .fine();
    says(&client, QUOTA, json!({"hard": {"example.com/gpu": "1"}})).await;
    client.merge(QUOTA, &json!({"spec": {"hard": {"example.com/gpu": null}}})).await.fine();
    says(&client, QUOTA, json!({})).await;
}

#[tokio::test]
async fn a_forged_status_gives_no_capacity() {
    let (_server, _, client) = server().await;
    client.post(SECRETS, &named("a")).await.fine();
    client.post(QUOTAS, &quota(&json!({"secrets": "1"}))).await.fine();
    let none = json!({"status": {"hard": {"secrets": "99"}, "used": {"secrets": "0"}}});
    client.merge(&format!("{QUOTA}/status"), &none).await.fine();
    exceeds(&client.post(SECRETS, &named("b")).await);
}

#[tokio::test]
async fn changes_without_a_running_server_are_counted_after_a_restart() {
    let (server, store, client) = server().await;
    client.post(QUOTAS, &quota(&json!({"secrets": "3"}))).await.fine();
    client.post(SECRETS, &named("a")).await.fine();
    client.post(SECRETS, &named("b")).await.fine();
    server.stop().await;
    store.commit(Transaction::new().delete("core/secrets/default/a")).await.unwrap();
    let server = on(&store).await;
    let client = Client::of(&server);
    says(&client, QUOTA, json!({"hard": {"secrets": "3"}, "used": {"secrets": "1"}})).await;
}

#[tokio::test]
async fn an_unchanged_quota_status_is_not_written() {
    let (_server, _, client) = server().await;
    let other =
        json!({"metadata": {"name": "other"}, "spec": {"hard": {"configmaps": "5", "example.com/gpu": "1"}}});
    client.post(QUOTAS, &other).await.fine();
    client.post(QUOTAS, &quota(&json!({"secrets": "5"}))).await.fine();
    let path = format!("{QUOTAS}/other");
    let hard = json!({"configmaps": "5", "example.com/gpu": "1"});
    let before = says(&client, &path, json!({"hard": hard, "used": {"configmaps": "0"}})).await;
    // Each round causes checks of the namespace; the quota is unchanged afterwards.
    for round in 0..3 {
        client.post(SECRETS, &named("a")).await.fine();
        client.delete(&format!("{SECRETS}/a")).await.fine();
        says(&client, QUOTA, json!({"hard": {"secrets": "5"}, "used": {"secrets": "0"}})).await;
        assert_eq!(client.get(&path).await.fine(), before, "round {round}");
    }
}

#[tokio::test]
async fn a_kind_is_counted_as_long_as_it_is_served() {
    let server = ApiServer::builder(Memory::new(Options::default())).start().await.unwrap();
    let client = Client::of(&server);
    let key = "count/widgets.example.com";
    client.post(QUOTAS, &quota(&json!({key: "1", "secrets": "1"}))).await.fine();
    let without = json!({"hard": {key: "1", "secrets": "1"}, "used": {"secrets": "0"}});
    let with = |used: &str| json!({"hard": {key: "1", "secrets": "1"}, "used": {key: used, "secrets": "0"}});
    says(&client, QUOTA, without.clone()).await;
    // Only the kind is created and deleted.
    client.post(CRD, &definition()).await.fine();
    says(&client, QUOTA, with("0")).await;
    client.delete(&format!("{CRD}/widgets.example.com")).await.fine();
    gone(&client, &format!("{CRD}/widgets.example.com")).await;
    says(&client, QUOTA, without).await;
    client.post(CRD, &definition()).await.fine();
    client.post(WIDGETS, &widget("a")).await.fine();
    exceeds(&client.post(WIDGETS, &widget("b")).await);
    says(&client, QUOTA, with("1")).await;
    client.delete(&format!("{WIDGETS}/a")).await.fine();
    says(&client, QUOTA, with("0")).await;
}

#[tokio::test]
async fn a_table_shows_the_usage() {
    let (_server, _, client) = server().await;
    client.post(QUOTAS, &quota(&json!({"secrets": "5", "count/configmaps": "2"}))).await.fine();
    client.post(MAPS, &named("a")).await.fine();
    let hard = json!({"count/configmaps": "2", "secrets": "5"});
    says(&client, QUOTA, json!({"hard": hard, "used": {"count/configmaps": "1", "secrets": "0"}})).await;
    let table = [("accept", "application/json;as=Table;v=v1;g=meta.k8s.io")];
    let table = client.ask(Method::GET, QUOTAS, &table, "").await.fine();
    let columns: Vec<&str> = table["columnDefinitions"]
        .as_array()
        .unwrap()
        .iter()
        .map(|column| column["name"].as_str().unwrap())
        .collect();
    assert_eq!(columns, ["Name", "Request", "Limit", "Age"]);
    assert_eq!(table["rows"][0]["cells"][1], "count/configmaps: 1/2, secrets: 0/5");
}
