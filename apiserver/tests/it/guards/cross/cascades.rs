//! Cascades: deletions of namespaces, owners and definitions.

use machinery_apiserver::CrossKindGuard;
use machinery_objects::InvalidField;
use machinery_store::{Memory, Options};
use serde_json::json;

use super::fixture::{
    DEPLOYMENTS, MAPS, create, deployment, map, references, references_between_namespaces, refused, start,
};
use crate::client::{Client, definition};
use crate::controllers::gone;
use crate::guards::subnet::records;

const NAMESPACES: &str = "/api/v1/namespaces";

#[tokio::test]
async fn deletion_of_a_namespace_is_not_refused_by_its_contents() {
    let store = Memory::new(Options::default());
    let server = start(&store, vec![references()]).await;
    let client = Client::of(&server);
    let space = |name: &str| json!({"metadata": {"name": name}});
    create(&client, NAMESPACES, &space("n")).await;
    for (number, name) in ["a", "b"].into_iter().enumerate() {
        create(&client, "/api/v1/namespaces/n/configmaps", &map(name)).await;
        let mut object = deployment(&format!("d{number}"), "x", Some(name));
        object["metadata"]["finalizers"] = json!(["example.com/hold"]);
        create(&client, "/apis/apps/v1/namespaces/n/deployments", &object).await;
    }
    client.delete(&format!("{NAMESPACES}/n")).await.fine();
    // The references dangle only as long as the cascade lasts.
    for number in [0, 1] {
        gone(&client, &format!("/api/v1/namespaces/n/configmaps/{}", ["a", "b"][number])).await;
        let path = format!("/apis/apps/v1/namespaces/n/deployments/d{number}");
        client.merge(&path, &json!({"metadata": {"finalizers": null}})).await.fine();
    }
    gone(&client, &format!("{NAMESPACES}/n")).await;
    assert_eq!(records(&store).await, 0);
    server.stop().await;
}

#[tokio::test]
async fn garbage_collection_is_not_refused() {
    let store = Memory::new(Options::default());
    let server = start(&store, vec![references()]).await;
    let client = Client::of(&server);
    let secrets = "/api/v1/namespaces/default/secrets";
    let owner = client.post(secrets, &json!({"metadata": {"name": "owner"}})).await.fine();
    let reference = json!([{
        "apiVersion": "v1", "kind": "Secret", "name": "owner", "uid": owner["metadata"]["uid"],
    }]);
    let mut owned = map("a");
    owned["metadata"]["ownerReferences"] = reference.clone();
    create(&client, MAPS, &owned).await;
    let mut user = deployment("d", "x", Some("a"));
    user["metadata"]["ownerReferences"] = reference;
    create(&client, DEPLOYMENTS, &user).await;
    // Outside of the cascade: it would wait for this one for good.
    create(&client, DEPLOYMENTS, &deployment("outside", "x", Some("a"))).await;
    refused(&client.delete(&format!("{MAPS}/a")).await, "references", "refers to it");
    client.delete(&format!("{secrets}/owner")).await.fine();
    gone(&client, &format!("{MAPS}/a")).await;
    gone(&client, &format!("{DEPLOYMENTS}/d")).await;
    // The next write of the object that is left reports its reference.
    let label = json!({"metadata": {"labels": {"a": "b"}}});
    let left = client.merge(&format!("{DEPLOYMENTS}/outside"), &label).await;
    refused(&left, "references", "its ConfigMap does not exist");
    server.stop().await;
}

#[tokio::test]
async fn deletion_of_a_definition_deletes_guarded_objects() {
    let store = Memory::new(Options::default());
    let guard = CrossKindGuard::new("kept")
        .member_of("example.com", "widgets", |_: &serde_json::Value| ["all".to_owned()])
        .check_deletions()
        .check(|write, _| match write.operation {
            machinery_apiserver::Operation::Delete => {
                vec![InvalidField { field: String::new(), reason: "it is kept".into() }]
            }
            _ => Vec::new(),
        });
    let server = start(&store, vec![guard]).await;
    let client = Client::of(&server);
    let definitions = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions";
    create(&client, definitions, &definition()).await;
    let widgets = "/apis/example.com/v1/namespaces/default/widgets";
    let widget = json!({"apiVersion": "example.com/v1", "kind": "Widget", "metadata": {"name": "w"}});
    create(&client, widgets, &widget).await;
    refused(&client.delete(&format!("{widgets}/w")).await, "kept", "it is kept");
    client.delete(&format!("{definitions}/widgets.example.com")).await.fine();
    gone(&client, &format!("{definitions}/widgets.example.com")).await;
    assert_eq!(records(&store).await, 0);
    server.stop().await;
}

/// A cascade would leave the reference of an object outside of it.
#[tokio::test]
async fn a_guard_with_namespaces_as_members_refuses_the_start_of_a_cascade() {
    let store = Memory::new(Options::default());
    let server = start(&store, vec![references(), references_between_namespaces()]).await;
    let client = Client::of(&server);
    create(&client, NAMESPACES, &json!({"metadata": {"name": "n"}})).await;
    create(&client, "/api/v1/namespaces/n/configmaps", &map("a")).await;
    create(&client, DEPLOYMENTS, &deployment("d", "x", Some("n/a"))).await;
    let path = format!("{NAMESPACES}/n");
    refused(&client.delete(&path).await, "namespaces", "d refers into it");
    assert_eq!(client.get(&path).await.fine()["status"]["phase"], "Active");
    client.delete(&format!("{DEPLOYMENTS}/d")).await.fine();
    client.delete(&path).await.fine();
    gone(&client, &path).await;
    server.stop().await;
}
