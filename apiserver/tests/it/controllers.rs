//! The server-side controllers: kinds, namespaces and owned objects that are created and deleted in
//! awkward orders.

use std::time::Duration;

use http::{Method, Request};
use http_body_util::{BodyExt, Full};
use machinery_apiserver::Body;
use serde_json::{Value, json};

use crate::client::{Client, definition, widgets};

const ALL: &str = "/apis/example.com/v1/namespaces/default/widgets";
const CRDS: &str = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions";

fn widget(name: &str, metadata: Value) -> Value {
    let mut object =
        json!({"apiVersion": "example.com/v1", "kind": "Widget", "metadata": metadata, "spec": {}});
    object["metadata"]["name"] = name.into();
    object
}

fn owner(of: &Value, blocks: bool) -> Value {
    json!({
        "apiVersion": of["apiVersion"], "kind": of["kind"], "name": of["metadata"]["name"],
        "uid": of["metadata"]["uid"], "blockOwnerDeletion": blocks,
    })
}

/// Waits until an object is deleted.
#[track_caller]
pub(crate) fn gone<'a>(client: &'a Client, path: &'a str) -> impl Future<Output = ()> + 'a {
    let caller = std::panic::Location::caller();
    async move {
        for _ in 0..1000 {
            if client.get(path).await.code == 404 {
                return;
            }
            tokio::time::sleep(Duration::from_millis(10)).await;
        }
        panic!("{caller}: {path} is still there");
    }
}

/// Waits until the collector has processed all earlier writes: it works in the order of the writes,
/// and at its start in that of the keys.
pub(crate) async fn collected(client: &Client) {
    let ghost = json!({"apiVersion": "v1", "kind": "ConfigMap", "name": "ghost", "uid": "none-such"});
    let last = json!({"metadata": {"name": "last", "ownerReferences": [ghost]}});
    client.post("/api/v1/namespaces/default/secrets", &last).await.fine();
    gone(client, "/api/v1/namespaces/default/secrets/last").await;
}

async fn watch(client: &Client, path: &str) -> Body {
    let request = Request::builder().method(Method::GET).uri(path).body(Full::default()).unwrap();
    client.send(request).await.into_body()
}

/// The next event of a watch. `None`: it has ended.
async fn event(watch: &mut Body) -> Option<Value> {
    let frame = tokio::time::timeout(Duration::from_secs(10), watch.frame()).await.expect("in time")?;
    Some(serde_json::from_slice(&frame.unwrap().into_data().unwrap()).unwrap())
}

#[tokio::test]
async fn a_dependent_with_another_owner_is_kept() {
    let (_server, client) = widgets().await;
    let one = client.post(ALL, &widget("one", json!({}))).await.fine();
    let two = client.post(ALL, &widget("two", json!({}))).await.fine();
    let owners = json!([owner(&one, true), owner(&two, true)]);
    client.post(ALL, &widget("owned", json!({"ownerReferences": owners}))).await.fine();
    client.delete(&format!("{ALL}/one?propagationPolicy=Foreground")).await.fine();
    gone(&client, &format!("{ALL}/one")).await;
    collected(&client).await;
    let owned = client.get(&format!("{ALL}/owned")).await.fine();
    assert_eq!(owned["metadata"]["ownerReferences"], json!([owner(&two, true)]));
}

#[tokio::test]
async fn a_dependent_of_an_unknown_owner_is_kept() {
    let (_server, client) = widgets().await;
    let strange = json!({"apiVersion": "other.example.com/v1", "kind": "Strange", "name": "x", "uid": "x"});
    client.post(ALL, &widget("strange", json!({"ownerReferences": [strange]}))).await.fine();
    let one = client.post(ALL, &widget("one", json!({}))).await.fine();
    let node = json!({"metadata": {"name": "node", "ownerReferences": [owner(&one, false)]}});
    client.post("/api/v1/nodes", &node).await.fine();
    collected(&client).await;
    client.get(&format!("{ALL}/strange")).await.fine();
    client.get("/api/v1/nodes/node").await.fine();
}

#[tokio::test]
async fn an_undeletable_object_does_not_stop_the_collector() {
    let (_server, client) = widgets().await;
    let ghost = json!({"apiVersion": "v1", "kind": "Node", "name": "ghost", "uid": "none-such"});
    let owned = json!({"metadata": {"ownerReferences": [ghost]}});
    client.merge("/api/v1/namespaces/default", &owned).await.fine();
    collected(&client).await;
    client.get("/api/v1/namespaces/default").await.fine();
}

#[tokio::test]
async fn foreground_deletion_is_last_and_cycles_are_deleted() {
    let (_server, client) = widgets().await;
    let a = client.post(ALL, &widget("a", json!({}))).await.fine();
    let b = client.post(ALL, &widget("b", json!({"ownerReferences": [owner(&a, true)]}))).await.fine();
    let held = json!({"ownerReferences": [owner(&b, true)], "finalizers": ["example.com/hold"]});
    client.post(ALL, &widget("c", held)).await.fine();
    client.delete(&format!("{ALL}/a?propagationPolicy=Foreground")).await.fine();
    collected(&client).await;
    client.get(&format!("{ALL}/a")).await.fine();
    client.get(&format!("{ALL}/b")).await.fine();
    client.merge(&format!("{ALL}/c"), &json!({"metadata": {"finalizers": null}})).await.fine();
    gone(&client, &format!("{ALL}/a")).await;

    let a = client.post(ALL, &widget("a", json!({}))).await.fine();
    let b = client.post(ALL, &widget("b", json!({"ownerReferences": [owner(&a, true)]}))).await.fine();
    let owned = json!({"metadata": {"ownerReferences": [owner(&b, true)]}});
    client.merge(&format!("{ALL}/a"), &owned).await.fine();
    client.delete(&format!("{ALL}/a?propagationPolicy=Foreground")).await.fine();
    gone(&client, &format!("{ALL}/a")).await;
    gone(&client, &format!("{ALL}/b")).await;
}

/// Widgets in two versions, of which the served one is not the stored one.
fn two_versions() -> Value {
    let mut crd = definition();
    let mut stored = crd["spec"]["versions"][0].clone();
    crd["spec"]["versions"][0]["storage"] = false.into();
    stored["name"] = "v2".into();
    stored["served"] = false.into();
    crd["spec"]["versions"].as_array_mut().unwrap().push(stored);
    crd
}

async fn replace(client: &Client, mut crd: Value) {
    let path = format!("{CRDS}/{}", crd["metadata"]["name"].as_str().unwrap());
    let there = client.get(&path).await.fine();
    crd["metadata"]["resourceVersion"] = there["metadata"]["resourceVersion"].clone();
    client.put(&path, &crd).await.fine();
}

#[tokio::test]
async fn a_namespace_deletes_objects_whose_stored_version_is_not_served() {
    let (_server, client) = widgets().await;
    replace(&client, two_versions()).await;
    let namespace = json!({"metadata": {"name": "n"}});
    client.post("/api/v1/namespaces", &namespace).await.fine();
    client.post("/apis/example.com/v1/namespaces/n/widgets", &widget("a", json!({}))).await.fine();
    client.delete("/api/v1/namespaces/n").await.fine();
    gone(&client, "/api/v1/namespaces/n").await;
    let left = client.get("/apis/example.com/v1/namespaces/n/widgets").await.fine();
    assert_eq!(left["items"], json!([]));
}

#[tokio::test]
async fn a_definition_deletes_objects_of_unserved_versions() {
    let (_server, client) = widgets().await;
    client.post(ALL, &widget("a", json!({}))).await.fine();
    let mut unserved = definition();
    unserved["spec"]["versions"][0]["served"] = false.into();
    replace(&client, unserved).await;
    assert_eq!(client.get(ALL).await.code, 404);
    let path = format!("{CRDS}/widgets.example.com");
    client.delete(&path).await.fine();
    gone(&client, &path).await;
    client.post(CRDS, &definition()).await.fine();
    assert_eq!(client.get(ALL).await.fine()["items"], json!([]), "another definition has other objects");
}

#[tokio::test]
async fn a_definition_cannot_replace_a_built_in_kind() {
    let (_server, client) = widgets().await;
    let leases = "/apis/coordination.k8s.io/v1/namespaces/default/leases";
    client
        .post(leases, &json!({"metadata": {"name": "a"}, "spec": {"leaseDurationSeconds": 3}}))
        .await
        .fine();
    let mut crd = definition();
    crd["metadata"] = json!({"name": "leases.coordination.k8s.io"});
    crd["spec"]["group"] = "coordination.k8s.io".into();
    crd["spec"]["names"] = json!({"plural": "leases", "kind": "Lease"});
    let refused = client.post(CRDS, &crd).await;
    assert!(refused.refused().2.contains("protected groups must have approval annotation"), "{refused:?}");
    crd["metadata"]["annotations"] = json!({"api-approved.kubernetes.io": "unapproved, a test"});
    let crd = client.post(CRDS, &crd).await.fine();
    // As if the collector had decided so.
    let path = format!("{CRDS}/leases.coordination.k8s.io");
    let mut forged = client.get(&path).await.fine();
    forged["status"]["acceptedNames"] = crd["spec"]["names"].clone();
    forged["status"]["conditions"] = json!([{"type": "Established", "status": "True"}]);
    client.put(&format!("{path}/status"), &forged).await.fine();
    let lease = client.get(&format!("{leases}/a")).await.fine();
    assert_eq!(lease["spec"], json!({"leaseDurationSeconds": 3}));
    client.delete(&path).await.fine();
    gone(&client, &path).await;
    client.get(&format!("{leases}/a")).await.fine();
}

#[tokio::test]
async fn disputed_names_stay_with_the_definition_that_was_accepted() {
    let (_server, client) = widgets().await;
    let mut gadgets = definition();
    gadgets["metadata"]["name"] = "gadgets.example.com".into();
    gadgets["spec"]["names"] = json!({"plural": "gadgets", "kind": "Gadget"});
    client.post(CRDS, &gadgets).await.fine();
    let mut greedy = definition();
    greedy["spec"]["names"]["shortNames"] = json!(["wd", "gadgets"]);
    replace(&client, greedy).await;
    client.get("/apis/example.com/v1/gadgets").await.fine();
    client.get("/apis/example.com/v1/widgets").await.fine();
    let crd = client.get(&format!("{CRDS}/widgets.example.com")).await.fine();
    assert_eq!(crd["status"]["acceptedNames"]["shortNames"], json!(["wd"]));
    let conditions = crd["status"]["conditions"].as_array().unwrap();
    let accepted = conditions.iter().find(|one| one["type"] == "NamesAccepted").unwrap();
    assert_eq!((&accepted["status"], &accepted["reason"]), (&json!("False"), &json!("ShortNamesConflict")));
}

#[tokio::test]
async fn a_watch_ends_with_its_kind_after_all_events() {
    let (_server, client) = widgets().await;
    client.post(ALL, &widget("a", json!({}))).await.fine();
    let mut seen = watch(&client, &format!("{ALL}?watch=true")).await;
    assert_eq!(event(&mut seen).await.unwrap()["type"], "ADDED");
    // Watchers of its objects get no event for a condition.
    let path = format!("{CRDS}/widgets.example.com");
    client.merge(&path, &json!({"metadata": {"labels": {"a": "b"}}})).await.fine();
    client.post(ALL, &widget("b", json!({}))).await.fine();
    assert_eq!(event(&mut seen).await.unwrap()["object"]["metadata"]["name"], "b");

    let marked = format!("{ALL}?watch=true&allowWatchBookmarks=true&fieldSelector=metadata.name%3Db");
    let mut marked = watch(&client, &marked).await;
    assert_eq!(event(&mut marked).await.unwrap()["type"], "ADDED");
    let mut wider = definition();
    wider["spec"]["versions"][0]["schema"]["openAPIV3Schema"]["properties"]["spec"]["properties"]["shape"] =
        json!({"type": "string"});
    replace(&client, wider).await;
    let round = client.merge(&format!("{ALL}/a"), &json!({"spec": {"shape": "round"}})).await.fine();
    assert_eq!(event(&mut seen).await, None, "who comes back sees the new shape");
    let revision =
        |object: &Value| -> u64 { object["metadata"]["resourceVersion"].as_str().unwrap().parse().unwrap() };
    while let Some(mark) = event(&mut marked).await {
        assert_eq!(mark["type"], "BOOKMARK");
        assert!(revision(&mark["object"]) < revision(&round), "nothing is claimed that was not told");
    }

    let mut seen = watch(&client, &format!("{ALL}?watch=true&resourceVersion=0")).await;
    assert_eq!(event(&mut seen).await.unwrap()["object"]["spec"]["shape"], "round");
    assert_eq!(event(&mut seen).await.unwrap()["type"], "ADDED");
    client.delete(&path).await.fine();
    assert_eq!(event(&mut seen).await.unwrap()["type"], "DELETED");
    assert_eq!(event(&mut seen).await.unwrap()["type"], "DELETED");
    assert_eq!(event(&mut seen).await, None);
}

#[tokio::test]
async fn a_watch_from_a_future_revision_is_silent_until_then() {
    let (_server, client) = widgets().await;
    let one = client.post(ALL, &widget("a", json!({}))).await.fine();
    let now: u64 = one["metadata"]["resourceVersion"].as_str().unwrap().parse().unwrap();
    let mut seen = watch(&client, &format!("{ALL}?watch=true&resourceVersion={}", now + 2)).await;
    let first = tokio::time::timeout(Duration::from_millis(50), seen.frame()).await;
    assert!(first.is_err(), "nothing yet");
    for name in ["b", "c", "d"] {
        client.post(ALL, &widget(name, json!({}))).await.fine();
    }
    assert_eq!(event(&mut seen).await.unwrap()["object"]["metadata"]["name"], "d");
}

#[tokio::test]
async fn a_patch_cannot_change_kind_or_identity() {
    let (_server, client) = widgets().await;
    let a = client.post(ALL, &widget("a", json!({}))).await.fine();
    let one = format!("{ALL}/a");
    for patch in [json!({"kind": "Gadget"}), json!({"apiVersion": "example.com/v9"}), json!({"kind": null})] {
        let refused = client.merge(&one, &patch).await;
        assert_eq!(refused.refused().1, "Invalid", "{patch} {refused:?}");
    }
    let role = json!({"metadata": {"name": "r"}, "rules": []});
    client.post("/apis/rbac.authorization.k8s.io/v1/clusterroles", &role).await.fine();
    let patch = json!({"kind": "ClusterRoleBinding"});
    let patched = client.merge("/apis/rbac.authorization.k8s.io/v1/clusterroles/r", &patch).await;
    assert_eq!(patched.refused().1, "Invalid", "{patched:?}");
    let whole = r#"[{"op": "replace", "path": "", "value": "x"}]"#;
    for path in [&*one, "/apis/rbac.authorization.k8s.io/v1/clusterroles/r"] {
        let headers = [("content-type", "application/json-patch+json")];
        let refused = client.ask(Method::PATCH, path, &headers, whole).await;
        assert_eq!(refused.code, 422, "{refused:?}");
    }

    let status = format!("{one}/status");
    let mut object = widget("a", json!({}));
    object["status"] = json!({"x": 1});
    assert_eq!(client.put(&status, &object).await.code, 422, "no revision");
    object["metadata"]["resourceVersion"] = a["metadata"]["resourceVersion"].clone();
    for (field, value, code) in [("name", "b", 400), ("namespace", "other", 400), ("uid", "zz", 409)] {
        let mut object = object.clone();
        object["metadata"][field] = value.into();
        assert_eq!(client.put(&status, &object).await.code, code, "{field}");
    }
    assert_eq!(client.merge(&status, &json!({"metadata": {"name": "b"}})).await.code, 400);
}
