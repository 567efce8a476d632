//! Creation, update and deletion of objects.

use std::convert::Infallible;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use bytes::Bytes;
use http::Method;
use http_body::Frame;
use http_body_util::{Full, StreamBody};
use machinery_apiserver::{ApiServer, Identity, Limits};
use machinery_store::{Memory, Options};
use serde_json::{Value, json};
use tower_service::Service as _;

use crate::client::{Client, widgets};

const ALL: &str = "/apis/example.com/v1/namespaces/default/widgets";
const ONE: &str = "/apis/example.com/v1/namespaces/default/widgets/a";

fn widget(name: &str, spec: Value) -> Value {
    json!({"apiVersion": "example.com/v1", "kind": "Widget", "metadata": {"name": name}, "spec": spec})
}

#[tokio::test]
async fn an_object_is_created_read_changed_and_deleted() {
    let (_server, client) = widgets().await;
    let created = client.post(ALL, &widget("a", json!({"color": "red"}))).await;
    assert_eq!(created.code, 201, "{created:#?}");
    let created = created.body;
    assert_eq!(created["spec"], json!({"color": "red", "size": 3}));
    assert_eq!(created["metadata"]["generation"], 1);
    assert_eq!(created["metadata"]["namespace"], "default");
    assert_eq!(client.get(ONE).await.fine(), created);

    let mut changed = created.clone();
    changed["spec"]["size"] = 4.into();
    let changed = client.put(ONE, &changed).await.fine();
    assert_eq!(changed["metadata"]["generation"], 2);
    assert_ne!(changed["metadata"]["resourceVersion"], created["metadata"]["resourceVersion"]);
    assert_eq!(client.put(ONE, &created).await.refused().1, "Conflict");

    let deleted = client.delete(ONE).await.fine();
    assert_eq!((&deleted["status"], &deleted["details"]["name"]), (&json!("Success"), &json!("a")));
    assert_eq!(client.get(ONE).await.refused(), (404, "NotFound", r#"widgets.example.com "a" not found"#));
}

#[tokio::test]
async fn invalid_requests_are_refused() {
    let (_server, client) = widgets().await;
    let wrong = client.post(ALL, &widget("a", json!({"color": "pink", "size": 0}))).await;
    assert_eq!((wrong.code, wrong.refused().1), (422, "Invalid"), "{wrong:#?}");
    assert_eq!(wrong.body["details"]["causes"].as_array().unwrap().len(), 2, "{wrong:#?}");
    client.post(ALL, &widget("a", json!({}))).await.fine();
    assert_eq!(client.post(ALL, &widget("a", json!({}))).await.refused().1, "AlreadyExists");
    let nowhere = "/apis/example.com/v1/namespaces/nowhere/widgets";
    assert_eq!(client.post(nowhere, &widget("a", json!({}))).await.refused().1, "NotFound");
    assert_eq!(client.get("/apis/example.com/v1/gadgets").await.code, 404);
}

#[tokio::test]
async fn status_is_a_subresource() {
    let (_server, client) = widgets().await;
    let mut object = client.post(ALL, &widget("a", json!({}))).await.fine();
    object["status"] = json!({"ready": true});
    object["spec"]["size"] = 9.into();
    let object = client.put(&format!("{ONE}/status"), &object).await.fine();
    assert_eq!((&object["status"], &object["spec"]["size"]), (&json!({"ready": true}), &json!(3)));
    assert_eq!(object["metadata"]["generation"], 1);
    let object = client.merge(ONE, &json!({"status": {"ready": false}, "spec": {"size": 5}})).await.fine();
    assert_eq!((&object["status"], &object["spec"]["size"]), (&json!({"ready": true}), &json!(5)));
}

#[tokio::test]
async fn a_finalizer_blocks_deletion() {
    let (_server, client) = widgets().await;
    let mut object = widget("a", json!({}));
    object["metadata"]["finalizers"] = json!(["example.com/hold"]);
    client.post(ALL, &object).await.fine();
    let held = client.delete(ONE).await.fine();
    assert!(held["metadata"]["deletionTimestamp"].is_string());
    assert_eq!(held["metadata"]["generation"], 2);
    client.merge(ONE, &json!({"metadata": {"finalizers": null}})).await.fine();
    assert_eq!(client.get(ONE).await.code, 404);
}

#[tokio::test]
async fn lists_are_paged_and_selected() {
    let (_server, client) = widgets().await;
    for (name, color) in [("a", "red"), ("b", "green"), ("c", "red"), ("d", "blue")] {
        client.post(ALL, &widget(name, json!({"color": color}))).await.fine();
    }
    let names = |list: &Value| -> Vec<String> {
        let items = list["items"].as_array().unwrap();
        items.iter().map(|item| item["metadata"]["name"].as_str().unwrap().to_owned()).collect()
    };
    assert_eq!(names(&client.get(ALL).await.fine()), ["a", "b", "c", "d"]);
    let page = client.get(&format!("{ALL}?limit=3")).await.fine();
    assert_eq!(
        (names(&page), &page["metadata"]["remainingItemCount"]),
        (vec!["a".into(), "b".into(), "c".into()], &json!(1))
    );
    let next = page["metadata"]["continue"].as_str().unwrap();
    client.delete(&format!("{ALL}/d")).await.fine();
    let rest = client.get(&format!("{ALL}?limit=3&continue={next}")).await.fine();
    assert_eq!(names(&rest), ["d"], "of the moment of the first page");
    assert_eq!(names(&client.get(&format!("{ALL}?fieldSelector=spec.color%3Dred")).await.fine()), ["a", "c"]);
    assert_eq!(client.get(&format!("{ALL}?fieldSelector=spec.size%3D3")).await.code, 400);
    assert_eq!(names(&client.get("/apis/example.com/v1/widgets").await.fine()), ["a", "b", "c"]);
}

#[tokio::test]
async fn a_kind_is_served_while_its_definition_exists() {
    let (_server, client) = widgets().await;
    client.post(ALL, &widget("a", json!({}))).await.fine();
    let definition = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions/widgets.example.com";
    let conditions = client.get(definition).await.fine()["status"]["conditions"].clone();
    assert!(
        conditions
            .as_array()
            .unwrap()
            .iter()
            .any(|one| one["type"] == "Established" && one["status"] == "True")
    );
    let found = client.get("/apis/example.com/v1").await.fine();
    assert_eq!(found["resources"][0]["name"], "widgets");
    client.delete(definition).await.fine();
    for _ in 0..1000 {
        if client.get(definition).await.code == 404 {
            break;
        }
        tokio::time::sleep(std::time::Duration::from_millis(10)).await;
    }
    assert_eq!(client.get(ALL).await.code, 404);
    assert_eq!(client.get("/apis/example.com/v1").await.code, 404);
}

#[tokio::test]
async fn deleting_a_namespace_deletes_its_contents() {
    let (_server, client) = widgets().await;
    let namespace = json!({"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": "n"}});
    client.post("/api/v1/namespaces", &namespace).await.fine();
    let inside = "/apis/example.com/v1/namespaces/n/widgets";
    client.post(inside, &widget("a", json!({}))).await.fine();
    client.delete("/api/v1/namespaces/n").await.fine();
    assert_eq!(client.post(inside, &widget("b", json!({}))).await.code, 403);
    for _ in 0..1000 {
        if client.get("/api/v1/namespaces/n").await.code == 404 {
            break;
        }
        tokio::time::sleep(std::time::Duration::from_millis(10)).await;
    }
    assert_eq!(client.get("/api/v1/namespaces/n").await.code, 404);
    assert!(client.get(inside).await.fine()["items"].as_array().unwrap().is_empty());
}

#[tokio::test]
async fn dependents_are_deleted_after_their_owner() {
    let (_server, client) = widgets().await;
    let owner = client.post(ALL, &widget("owner", json!({}))).await.fine();
    let mut owned = widget("owned", json!({}));
    owned["metadata"]["ownerReferences"] = json!([{
        "apiVersion": "example.com/v1", "kind": "Widget", "name": "owner", "uid": owner["metadata"]["uid"],
    }]);
    client.post(ALL, &owned).await.fine();
    client.delete(&format!("{ALL}/owner")).await.fine();
    for _ in 0..1000 {
        if client.get(&format!("{ALL}/owned")).await.code == 404 {
            return;
        }
        tokio::time::sleep(std::time::Duration::from_millis(10)).await;
    }
    panic!("it is still there");
}

#[tokio::test]
async fn a_dry_run_changes_nothing() {
    let (_server, client) = widgets().await;
    client.post(&format!("{ALL}?dryRun=All"), &widget("a", json!({}))).await.fine();
    assert_eq!(client.get(ONE).await.code, 404);
    let made = client.ask(Method::POST, ALL, &[("content-type", "application/json")], "{").await;
    assert_eq!(made.code, 400);
}

#[tokio::test]
async fn requests_over_the_limit_are_refused_with_a_retry() {
    let limits = Limits { in_flight: 0, ..Limits::default() };
    let server = ApiServer::builder(Memory::new(Options::default())).limits(limits).start().await.unwrap();
    let client = Client::of(&server);
    assert_eq!(client.get("/api/v1/namespaces").await.refused().1, "TooManyRequests");
    assert_eq!(client.get("/readyz").await.code, 200);
}

#[tokio::test]
async fn a_panic_fails_one_request() {
    let broken = Arc::new(AtomicBool::new(false));
    let clock = broken.clone();
    let server = ApiServer::builder(Memory::new(Options::default())).clock(move || {
        assert!(!clock.load(Ordering::Relaxed), "no clock");
        jiff::Timestamp::UNIX_EPOCH
    });
    let server = server.start().await.unwrap();
    let client = Client::of(&server);
    let namespace = json!({"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": "n"}});
    broken.store(true, Ordering::Relaxed);
    let refused = client.post("/api/v1/namespaces", &namespace).await;
    assert_eq!(refused.refused().1, "InternalError", "{refused:?}");
    broken.store(false, Ordering::Relaxed);
    client.post("/api/v1/namespaces", &namespace).await.fine();
}

#[tokio::test(start_paused = true)]
async fn a_late_body_is_refused() {
    let (server, _client) = widgets().await;
    let body = StreamBody::new(futures::stream::pending::<Result<Frame<Bytes>, Infallible>>());
    let request = http::Request::post(ALL).body(body).unwrap();
    let answer = server.service(Identity::admin()).call(request).await.unwrap();
    assert_eq!(answer.status(), 408);
}

#[tokio::test]
async fn buffered_bodies_have_a_common_limit() {
    let limits = Limits { bodies_bytes: 1000, ..Limits::default() };
    let server = ApiServer::builder(Memory::new(Options::default())).limits(limits).start().await.unwrap();
    let client = Client::of(&server);
    let of = |length| json!({"metadata": {"name": "n"}, "filling": "x".repeat(length)});
    assert_eq!(client.post("/api/v1/namespaces", &of(2000)).await.refused().1, "TooManyRequests");
    client.post("/api/v1/namespaces", &of(10)).await.fine();
    client.merge("/api/v1/namespaces/n?dryRun=All", &of(900)).await.fine();
    client.delete("/api/v1/namespaces/n").await.fine();
}

#[tokio::test]
async fn watches_over_the_limit_are_refused_with_a_retry() {
    let limits = Limits { watches: 1, ..Limits::default() };
    let server = ApiServer::builder(Memory::new(Options::default())).limits(limits).start().await.unwrap();
    let client = Client::of(&server);
    let watch = || http::Request::get("/api/v1/namespaces?watch=1").body(Full::default()).unwrap();
    let first = client.send(watch()).await;
    assert_eq!(first.status(), 200);
    assert_eq!(client.send(watch()).await.status(), 429);
    drop(first);
    assert_eq!(client.send(watch()).await.status(), 200);
}
