//! Deletions that take several steps.

use k8s_openapi::api::core::v1::ConfigMap;
use machinery_apiserver::{CrossKindGuard, Handle, Identity, Operation};
use machinery_objects::{Conflict, Deletion, InvalidField, ObjectKey, WriteError, Writer as _};
use machinery_store::{Memory, Options};
use serde_json::json;

use super::fixture::{DEPLOYMENTS, MAPS, create, deployment, map, references, refused, start};
use crate::client::Client;
use crate::controllers::gone;

/// A deletion is checked at its request; the removal of the last finalizer is not.
#[tokio::test]
async fn a_deletion_is_checked_once_at_its_request() {
    let store = Memory::new(Options::default());
    let server = start(&store, vec![references()]).await;
    let client = Client::of(&server);
    let held = json!({"metadata": {"name": "a", "finalizers": ["example.com/hold"]}});
    create(&client, MAPS, &held).await;
    create(&client, DEPLOYMENTS, &deployment("d", "x", Some("a"))).await;
    let path = format!("{MAPS}/a");
    refused(&client.delete(&path).await, "references", "d refers to it");
    refused(&client.delete(&format!("{path}?dryRun=All")).await, "references", "d refers to it");
    assert_eq!(client.get(&path).await.fine()["metadata"].get("deletionTimestamp"), None);
    client.delete(&format!("{DEPLOYMENTS}/d")).await.fine();
    client.delete(&path).await.fine();
    // It still exists and is no target of new references.
    assert_ne!(client.get(&path).await.fine()["metadata"].get("deletionTimestamp"), None);
    let late = client.post(DEPLOYMENTS, &deployment("d", "x", Some("a"))).await;
    refused(&late, "references", "does not exist");
    client.merge(&path, &json!({"metadata": {"finalizers": null}})).await.fine();
    gone(&client, &path).await;
    server.stop().await;
}

/// A check that began to refuse after the mark would keep a terminating object for good.
#[tokio::test]
async fn the_removal_of_a_marked_object_is_not_checked() {
    let guard = CrossKindGuard::new("kept")
        .member_of("", "configmaps", |_: &serde_json::Value| ["all".to_owned()])
        .check_deletions()
        .check(|write, _| {
            let is_kept = write.object.value()["metadata"]["labels"]["kept"] == "yes";
            let wrong = InvalidField { field: String::new(), reason: "it is kept".into() };
            (is_kept && write.operation == Operation::Delete).then_some(wrong).into_iter().collect()
        });
    let store = Memory::new(Options::default());
    let server = start(&store, vec![guard]).await;
    let (client, path) = (Client::of(&server), format!("{MAPS}/a"));
    create(&client, MAPS, &json!({"metadata": {"name": "a", "finalizers": ["example.com/hold"]}})).await;
    client.delete(&path).await.fine();
    client.merge(&path, &json!({"metadata": {"labels": {"kept": "yes"}}})).await.fine();
    client.delete(&path).await.fine();
    client.merge(&path, &json!({"metadata": {"finalizers": null}})).await.fine();
    gone(&client, &path).await;
    create(&client, MAPS, &json!({"metadata": {"name": "a", "labels": {"kept": "yes"}}})).await;
    refused(&client.delete(&path).await, "kept", "it is kept");
    server.stop().await;
}

#[tokio::test]
async fn a_collection_is_deleted_up_to_the_first_refusal() {
    let store = Memory::new(Options::default());
    let server = start(&store, vec![references()]).await;
    let client = Client::of(&server);
    for name in ["a", "b", "c"] {
        create(&client, MAPS, &map(name)).await;
    }
    create(&client, DEPLOYMENTS, &deployment("d", "x", Some("b"))).await;
    refused(&client.delete(MAPS).await, "references", "d refers to it");
    let left = client.get(MAPS).await.fine();
    let names = left["items"].as_array().unwrap().iter().map(|map| map["metadata"]["name"].as_str().unwrap());
    assert_eq!(names.filter(|name| name.len() == 1).collect::<Vec<_>>(), ["b", "c"]);
    server.stop().await;
}

#[tokio::test]
async fn a_refused_deletion_through_a_handle_names_the_guard() {
    let store = Memory::new(Options::default());
    let server = start(&store, vec![references()]).await;
    let client = Client::of(&server);
    create(&client, MAPS, &map("a")).await;
    create(&client, DEPLOYMENTS, &deployment("d", "x", Some("a"))).await;
    let maps: Handle<ConfigMap> = server.handle(Identity::admin());
    let key = ObjectKey::new(Some("default"), "a").unwrap();
    match maps.delete(&key, &Deletion::default()).await {
        Err(WriteError::Conflict(Conflict::Guard { guard, reason })) => {
            assert_eq!(guard, "references");
            assert!(reason.contains("d refers to it"), "{reason}");
        }
        other => panic!("{other:?}"),
    }
    server.stop().await;
}

/// The check panics for deletions, and a key function for one object.
#[tokio::test]
async fn a_panic_at_a_deletion_refuses_requests_and_no_cascade() {
    let store = Memory::new(Options::default());
    let guard = CrossKindGuard::new("broken")
        .member_of("", "configmaps", |map: &serde_json::Value| [map["metadata"]["namespace"].to_string()])
        .check_deletions()
        .check(|write, _| -> Vec<InvalidField> {
            assert!(write.object.namespace() != Some("n"), "as a test requests");
            Vec::new()
        });
    let server = start(&store, vec![guard]).await;
    let client = Client::of(&server);
    create(&client, "/api/v1/namespaces", &json!({"metadata": {"name": "n"}})).await;
    let answer = client.post("/api/v1/namespaces/n/configmaps", &map("a")).await;
    assert_eq!((answer.code, answer.refused().2.contains("\"broken\"")), (500, true), "{answer:?}");
    create(&client, MAPS, &map("a")).await;
    client.delete(&format!("{MAPS}/a")).await.fine();
    // With the objects that every namespace has.
    client.delete("/api/v1/namespaces/n").await.fine();
    gone(&client, "/api/v1/namespaces/n").await;
    server.stop().await;
}
