//! A kind in several versions, of which one is stored.

use std::time::Duration;

use machinery_apiserver::ApiServer;
use machinery_store::{Memory, Options};
use serde_json::{Value, json};

use crate::client::Client;

const DEFINITIONS: &str = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions";
const NEW: &str = "/apis/parts.example.com/v2/namespaces/default/gears";
const OLD: &str = "/apis/parts.example.com/v1/namespaces/default/gears";

/// Stored as v1, which knows teeth and metal; v2 knows teeth and colour.
fn definition(old_is_served: bool) -> Value {
    let version = |name: &str, served: bool, storage: bool, field: &str| {
        let spec = json!({"teeth": {"type": "integer"}, field: {"type": "string", "default": "none"}});
        let root = json!({"type": "object", "properties": {"spec": {"type": "object", "properties": spec}}});
        json!({"name": name, "served": served, "storage": storage, "schema": {"openAPIV3Schema": root}})
    };
    json!({
        "apiVersion": "apiextensions.k8s.io/v1", "kind": "CustomResourceDefinition",
        "metadata": {"name": "gears.parts.example.com"},
        "spec": {
            "group": "parts.example.com", "scope": "Namespaced", "names": {"plural": "gears", "kind": "Gear"},
            "versions": [version("v1", old_is_served, true, "metal"), version("v2", true, false, "colour")],
        },
    })
}

fn gear(version: &str) -> Value {
    let spec = json!({"teeth": 12, "colour": "red"});
    json!({"apiVersion": format!("parts.example.com/{version}"), "kind": "Gear", "metadata": {"name": "a"}, "spec": spec})
}

async fn served(definition: Value) -> (ApiServer, Client) {
    let server =
        ApiServer::builder(Memory::new(Options::default())).crds([definition]).start().await.unwrap();
    let client = Client::of(&server);
    (server, client)
}

#[tokio::test]
async fn fields_unknown_to_the_stored_version_are_lost() {
    let (_server, client) = served(definition(true)).await;
    let created = client.post(NEW, &gear("v2")).await.fine();
    assert_eq!(created["spec"], json!({"teeth": 12}));
    assert_eq!(client.get(&format!("{NEW}/a")).await.fine(), created);
    let stored = client.get(&format!("{OLD}/a")).await.fine();
    assert_eq!(stored["apiVersion"], "parts.example.com/v1");
    assert_eq!(stored["spec"], json!({"teeth": 12, "metal": "none"}));

    // Defaults of a version that is not stored are no change.
    let same = client.merge(&format!("{NEW}/a"), &json!({"spec": {"teeth": 12}})).await.fine();
    assert_eq!(same, created);
    let changed = client.merge(&format!("{NEW}/a"), &json!({"spec": {"teeth": 13}})).await.fine();
    assert_eq!((&changed["metadata"]["generation"], &changed["spec"]), (&json!(2), &json!({"teeth": 13})));
}

#[tokio::test]
async fn the_stored_version_need_not_be_served() {
    let (_server, client) = served(definition(false)).await;
    client.post(NEW, &gear("v2")).await.fine();
    assert_eq!(client.get(&format!("{NEW}/a")).await.fine()["spec"], json!({"teeth": 12}));
    assert_eq!(client.get(OLD).await.code, 404);

    // Its objects go with the definition.
    let this = format!("{DEFINITIONS}/gears.parts.example.com");
    client.delete(&this).await.fine();
    let gone = async {
        while client.get(&this).await.code != 404 {
            tokio::time::sleep(Duration::from_millis(10)).await;
        }
    };
    tokio::time::timeout(Duration::from_secs(30), gone).await.unwrap();
    client.post(DEFINITIONS, &definition(true)).await.fine();
    assert_eq!(client.get(OLD).await.fine()["items"], json!([]));
}
