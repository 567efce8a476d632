//! Acknowledged data under one schema survives a change to the next, however narrow.

use http::{Method, Request};
use http_body_util::{BodyExt, Full};
use machinery_apiserver::ApiServer;
use machinery_store::{Disk, DiskOptions};
use serde_json::{Value, json};

use crate::client::{Client, definition};

const ALL: &str = "/apis/example.com/v1/namespaces/default/widgets";
const DEFINITION: &str = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions/widgets.example.com";

/// Nothing that was good is: another color, a size of another type, something required, and tags
/// are no more.
fn narrow() -> Value {
    json!({
        "color": {"type": "string", "enum": ["white"]},
        "size": {"type": "string", "maxLength": 1},
        "shape": {"type": "string"},
        "edges": {"type": "integer", "default": 4},
    })
}

fn widget(name: &str) -> Value {
    json!({
        "apiVersion": "example.com/v1", "kind": "Widget", "metadata": {"name": name},
        "spec": {"color": "red", "size": 7, "tags": ["x"]},
    })
}

/// Expects the objects of these names unchanged, but for pruned fields and new defaults.
async fn there(client: &Client, names: &[&str]) {
    let spec = json!({"color": "red", "size": 7, "edges": 4});
    for name in names {
        assert_eq!(client.get(&format!("{ALL}/{name}")).await.fine()["spec"], spec, "{name}");
    }
    let list = client.get(ALL).await.fine();
    let items = list["items"].as_array().unwrap();
    let listed: Vec<_> = items.iter().map(|item| item["metadata"]["name"].as_str().unwrap()).collect();
    assert_eq!(listed, names);
    assert!(items.iter().all(|item| item["spec"] == spec), "{list:#}");

    let request = Request::get(format!("{ALL}?watch=true")).body(Full::default()).unwrap();
    let mut watch = client.send(request).await.into_body();
    for name in names {
        let frame = tokio::time::timeout(std::time::Duration::from_secs(10), watch.frame()).await.unwrap();
        let event: Value = serde_json::from_slice(&frame.unwrap().unwrap().into_data().unwrap()).unwrap();
        assert_eq!((&event["type"], &event["object"]["metadata"]["name"]), (&json!("ADDED"), &json!(name)));
        assert_eq!(event["object"]["spec"], spec);
    }
    let table = [("accept", "application/json;as=Table;v=v1;g=meta.k8s.io")];
    let table = client.ask(Method::GET, ALL, &table, "").await.fine();
    assert_eq!(table["rows"].as_array().unwrap().len(), names.len());
}

#[tokio::test]
async fn an_object_outlives_its_schema() {
    let home = tempfile::tempdir().unwrap();
    let open = || Disk::open(home.path().join("store"), DiskOptions::default()).unwrap();
    let disk = open();
    let server = ApiServer::builder(disk.clone()).crds([definition()]).start().await.unwrap();
    let client = Client::of(&server);
    for name in ["a", "b", "c"] {
        client.post(ALL, &widget(name)).await.fine();
    }
    let mut held = widget("held");
    held["metadata"]["finalizers"] = json!(["example.com/hold"]);
    client.post(ALL, &held).await.fine();
    let acknowledged = client.get(&format!("{ALL}/a")).await.fine();

    let mut crd = client.get(DEFINITION).await.fine();
    let schema = &mut crd["spec"]["versions"][0]["schema"]["openAPIV3Schema"]["properties"]["spec"];
    schema["properties"] = narrow();
    schema["required"] = json!(["shape"]);
    client.put(DEFINITION, &crd).await.fine();

    // The new schema applies: objects like the old ones are refused.
    assert_eq!(client.post(ALL, &widget("d")).await.refused().1, "Invalid");
    there(&client, &["a", "b", "c", "held"]).await;
    let now = client.get(&format!("{ALL}/a")).await.fine();
    assert_eq!(now["metadata"], acknowledged["metadata"], "nothing was written");
    client.delete(&format!("{ALL}/b")).await.fine();
    there(&client, &["a", "c", "held"]).await;
    server.stop().await;
    disk.close().await.unwrap();

    let disk = open();
    let server = ApiServer::builder(disk.clone()).start().await.unwrap();
    let client = Client::of(&server);
    assert_eq!(client.post(ALL, &widget("d")).await.refused().1, "Invalid");
    there(&client, &["a", "c", "held"]).await;
    client.delete(&format!("{ALL}/a")).await.fine();
    there(&client, &["c", "held"]).await;
    assert!(client.delete(&format!("{ALL}/held")).await.fine()["metadata"]["deletionTimestamp"].is_string());
    client.delete(ALL).await.fine();
    there(&client, &["held"]).await;
    server.stop().await;
    disk.close().await.unwrap();
}
