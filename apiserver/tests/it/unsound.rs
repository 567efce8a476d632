//! A definition that is stored, and would be refused if it came now: its kind is served, and it can
//! be mended.

use std::time::Duration;

use machinery_apiserver::ApiServer;
use machinery_store::{Backend, KeySpan, Memory, Options, Range, Transaction};
use serde_json::{Value, json};

use crate::client::{Client, definition};

const ALL: &str = "/apis/example.com/v1/namespaces/default/widgets";
const DEFINITION: &str = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions/widgets.example.com";

/// A part of the valid definition, and its form under stricter validation.
struct Change {
    sound: &'static str,
    unsound: &'static str,
}

const RULE: Change = Change { sound: "self.size < 100", unsound: "self.sizes < 100" };
const PATTERN: Change = Change { sound: "^red", unsound: "(red" };

fn sound() -> Value {
    let mut definition = definition();
    let spec = definition.pointer_mut("/spec/versions/0/schema/openAPIV3Schema/properties/spec").unwrap();
    spec["x-kubernetes-validations"] = json!([{"rule": RULE.sound}, {"rule": "self.size != 50"}]);
    spec["properties"]["color"] = json!({"type": "string", "pattern": PATTERN.sound});
    definition
}

fn widget(name: &str, size: u64) -> Value {
    json!({
        "apiVersion": "example.com/v1", "kind": "Widget", "metadata": {"name": name, "finalizers": ["example.com/hold"]},
        "spec": {"color": "red", "size": size},
    })
}

/// A server that finds the definition changed so, with an object of its kind.
async fn found(change: &Change) -> (ApiServer, Client) {
    let memory = Memory::new(Options::default());
    let server = ApiServer::builder(memory.clone()).crds([sound()]).start().await.unwrap();
    Client::of(&server).post(ALL, &widget("a", 1)).await.fine();
    server.stop().await;
    let page = memory.range(Range::of(KeySpan::Prefix("apiextensions.k8s.io/".into()))).await.unwrap();
    let stored = page.entries.first().unwrap();
    let text = changed(&stored.value, change);
    memory.commit(Transaction::new().put(stored.key.clone(), text)).await.unwrap();
    let server = ApiServer::builder(memory).start().await.unwrap();
    let client = Client::of(&server);
    (server, client)
}

/// Replaces one text in the bytes by another: bytes before it keep their position.
fn changed(bytes: &[u8], Change { sound, unsound }: &Change) -> Vec<u8> {
    let at = bytes.windows(sound.len()).position(|window| window == sound.as_bytes()).unwrap();
    [&bytes[..at], unsound.as_bytes(), &bytes[at + sound.len()..]].concat()
}

async fn until_gone(client: &Client, path: &str) {
    let patience = tokio::time::Instant::now() + Duration::from_secs(20);
    while client.get(path).await.code != 404 {
        assert!(tokio::time::Instant::now() < patience, "{path} stays");
        tokio::task::yield_now().await;
    }
}

fn told(definition: &Value) -> Option<&str> {
    let conditions = definition["status"]["conditions"].as_array().unwrap();
    conditions.iter().find(|one| one["type"] == "NonStructuralSchema")?["message"].as_str()
}

/// The kind was no longer served, and its definition could not be changed or deleted: all its
/// objects were inaccessible.
#[tokio::test]
async fn a_kind_with_an_unenforceable_rule_is_served_and_refuses_affected_writes() {
    let (_server, client) = found(&RULE).await;
    assert_eq!(client.get(ALL).await.fine()["items"].as_array().map(Vec::len), Some(1));
    assert_eq!(client.get(&format!("{ALL}/a")).await.fine()["spec"], widget("a", 1)["spec"]);

    let refused = client.post(ALL, &widget("b", 1)).await;
    let (code, reason, message) = refused.refused();
    assert_eq!((code, reason), (422, "Invalid"));
    assert!(
        message.contains("spec: Invalid value: \"object\": rule compile error: compilation failed"),
        "{message}"
    );
    let path = format!("{ALL}/a");
    assert_eq!(client.merge(&path, &json!({"spec": {"size": 2}})).await.refused().1, "Invalid");
    client.merge(&path, &json!({"metadata": {"labels": {"a": "b"}}})).await.fine();
    client.delete(&path).await.fine();
    client.merge(&path, &json!({"metadata": {"finalizers": null}})).await.fine();
    assert_eq!(client.get(&path).await.code, 404);
}

#[tokio::test]
async fn a_stored_invalid_definition_can_be_updated_and_repaired() {
    let (_server, client) = found(&RULE).await;
    let definition = client.get(DEFINITION).await.fine();
    let message = told(&definition).unwrap();
    assert!(message.contains("x-kubernetes-validations[0].rule"), "{message}");

    client.merge(DEFINITION, &json!({"metadata": {"annotations": {"a": "b"}}})).await.fine();
    let spec = "/spec/versions/0/schema/openAPIV3Schema/properties/spec";
    let mut changed = client.get(DEFINITION).await.fine();
    changed.pointer_mut(spec).unwrap()["description"] = "other".into();
    let mut changed = client.put(DEFINITION, &changed).await.fine();
    changed.pointer_mut(spec).unwrap()["x-kubernetes-validations"][1] = json!({"rule": "self.weight > 1"});
    let refused = client.put(DEFINITION, &changed).await;
    let (_, reason, message) = refused.refused();
    assert_eq!(
        (reason, message.contains("weight"), message.contains("sizes")),
        ("Invalid", true, false),
        "{message}"
    );

    changed.pointer_mut(spec).unwrap()["x-kubernetes-validations"] = json!([{"rule": RULE.sound}]);
    client.put(DEFINITION, &changed).await.fine();
    client.post(ALL, &widget("b", 1)).await.fine();
    let refused = client.post(ALL, &widget("c", 100)).await;
    assert!(refused.refused().2.contains("failed rule"), "{refused:?}");
    assert_eq!(told(&client.get(DEFINITION).await.fine()), None);
}

#[tokio::test]
async fn a_stored_invalid_definition_can_be_deleted() {
    for change in [RULE, PATTERN] {
        let (_server, client) = found(&change).await;
        client.merge(&format!("{ALL}/a"), &json!({"metadata": {"finalizers": null}})).await.fine();
        client.delete(DEFINITION).await.fine();
        until_gone(&client, DEFINITION).await;
        assert_eq!(client.get(ALL).await.code, 404);
    }
}

#[tokio::test]
async fn an_unreadable_schema_refuses_all_writes_and_loses_no_data() {
    let (_server, client) = found(&PATTERN).await;
    let path = format!("{ALL}/a");
    assert_eq!(client.get(&path).await.fine()["spec"], widget("a", 1)["spec"]);
    for refused in
        [client.post(ALL, &widget("b", 1)).await, client.merge(&path, &json!({"spec": {"size": 2}})).await]
    {
        let (_, reason, message) = refused.refused();
        assert_eq!((reason, message.contains("schema error")), ("Invalid", true), "{message}");
    }
    client.merge(&path, &json!({"metadata": {"labels": {"a": "b"}}})).await.fine();
    assert_eq!(client.get(&path).await.fine()["spec"], widget("a", 1)["spec"]);
}
