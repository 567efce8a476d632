//! One write is one revision of the store, and a write without changes is none.

use http::Method;
use machinery_apiserver::{ApiServer, Handle, Identity};
use machinery_objects::{Deletion, Patch, PatchFormat, Preconditions, Writer};
use machinery_store::{Backend, Memory, Options};
use serde_json::{Value, json};

use crate::client::{Answer, Client, definition};
use crate::typed::{Widget, WidgetStatus, key, widget};

const ALL: &str = "/apis/example.com/v1/namespaces/default/widgets";
const ONE: &str = "/apis/example.com/v1/namespaces/default/widgets/a";
const CONFIGS: &str = "/api/v1/namespaces/default/configmaps";
const CONFIG: &str = "/api/v1/namespaces/default/configmaps/c";

struct CountedRevisions {
    store: Memory,
    client: Client,
    server: ApiServer,
}

impl CountedRevisions {
    /// Starts a server without writes of its own.
    async fn start() -> Self {
        let store = Memory::new(Options::default());
        let mut scaled = definition();
        let version = &mut scaled["spec"]["versions"][0];
        version["subresources"]["scale"] =
            json!({"specReplicasPath": ".spec.size", "statusReplicasPath": ".status.size"});
        let server = ApiServer::builder(store.clone()).crds([scaled]).without_garbage_collection();
        let server = server.start().await.unwrap();
        Self { store, client: Client::of(&server), server }
    }

    async fn revision(&self) -> u64 {
        self.store.revision().await.unwrap().0
    }

    /// A write that is one: the object with its revision is the answer.
    async fn writes(&self, method: Method, path: &str, media: &str, body: &Value) -> Value {
        let answer = self.takes(method.clone(), path, media, body).await;
        let revision = self.revision().await.to_string();
        assert_eq!(answer["metadata"]["resourceVersion"], revision, "{method} {path}: {answer:#}");
        answer
    }

    /// A write that is one and leaves no object: the answer is its last state, or that it was done.
    async fn takes(&self, method: Method, path: &str, media: &str, body: &Value) -> Value {
        let before = self.revision().await;
        let answer = self.sends(method.clone(), path, media, body).await;
        assert_eq!(self.revision().await, before + 1, "{method} {path}: {answer:?}");
        answer.fine()
    }

    /// The answer has this code, and the store is as it was.
    async fn writes_nothing(&self, code: u16, method: Method, path: &str, media: &str, body: &Value) {
        let before = self.revision().await;
        let answer = self.sends(method.clone(), path, media, body).await;
        assert_eq!(answer.code, code, "{method} {path}: {answer:?}");
        assert_eq!(self.revision().await, before, "{method} {path}: {answer:?}");
    }

    async fn sends(&self, method: Method, path: &str, media: &str, body: &Value) -> Answer {
        let media = format!("application/{media}");
        let body = if body.is_null() { String::new() } else { body.to_string() };
        self.client.ask(method, path, &[("content-type", media.as_str())], &body).await
    }

    /// A write that is one; again, dry, it is none.
    async fn patches(&self, path: &str, media: &str, body: &Value) {
        let dry = format!("{path}?dryRun=All");
        self.writes_nothing(200, Method::PATCH, &dry, media, body).await;
        self.writes(Method::PATCH, path, media, body).await;
        self.writes_nothing(200, Method::PATCH, path, media, body).await;
    }
}

fn object(name: &str) -> Value {
    json!({"apiVersion": "example.com/v1", "kind": "Widget", "metadata": {"name": name}, "spec": {"color": "red"}})
}

const MERGE: &str = "merge-patch+json";

#[tokio::test]
async fn a_write_is_one_revision() {
    let plane = CountedRevisions::start().await;
    made_and_replaced(&plane).await;
    patched(&plane).await;
    deleted(&plane).await;
    through_a_handle(&plane).await;
    let made = json!({"metadata": {"name": "n"}});
    plane.writes(Method::POST, "/api/v1/namespaces", "json", &made).await;
    // The finalizers are removed by further writes. The answer has the revision of the requested
    // one.
    let before = plane.revision().await;
    let goes = plane.client.delete("/api/v1/namespaces/n").await.fine();
    assert_eq!(goes["metadata"]["resourceVersion"], (before + 1).to_string());
    plane.server.stop().await;
}

async fn made_and_replaced(plane: &CountedRevisions) {
    plane.writes_nothing(201, Method::POST, &format!("{ALL}?dryRun=All"), "json", &object("a")).await;
    let made = plane.writes(Method::POST, ALL, "json", &object("a")).await;
    plane.writes_nothing(409, Method::POST, ALL, "json", &object("a")).await;
    let mut wrong = object("b");
    wrong["spec"]["color"] = "none".into();
    plane.writes_nothing(422, Method::POST, ALL, "json", &wrong).await;
    let mut named = object("");
    named["metadata"] = json!({"generateName": "g-"});
    plane.writes(Method::POST, ALL, "json", &named).await;

    plane.writes_nothing(200, Method::PUT, ONE, "json", &made).await;
    let mut changed = made.clone();
    changed["spec"]["size"] = 5.into();
    plane.writes_nothing(200, Method::PUT, &format!("{ONE}?dryRun=All"), "json", &changed).await;
    plane.writes(Method::PUT, ONE, "json", &changed).await;
    plane.writes_nothing(409, Method::PUT, ONE, "json", &made).await;

    let review = json!({"spec": {"resourceAttributes": {"verb": "get", "resource": "pods"}}});
    let reviews = "/apis/authorization.k8s.io/v1/selfsubjectaccessreviews";
    plane.writes_nothing(201, Method::POST, reviews, "json", &review).await;
    for path in [ALL, ONE, "/readyz", "/openapi/v2", "/apis"] {
        plane.writes_nothing(200, Method::GET, path, "json", &Value::Null).await;
    }
}

async fn patched(plane: &CountedRevisions) {
    plane.patches(ONE, MERGE, &json!({"spec": {"size": 6}, "metadata": {"labels": {"x": "y"}}})).await;
    let replaced = json!([{"op": "replace", "path": "/spec/size", "value": 7}]);
    plane.patches(ONE, "json-patch+json", &replaced).await;
    plane.patches(&format!("{ONE}/status"), MERGE, &json!({"status": {"ready": true}})).await;
    plane.patches(&format!("{ONE}/scale"), MERGE, &json!({"spec": {"replicas": 8}})).await;
    let scale = format!("{ONE}/scale");
    let mut more = plane.client.get(&scale).await.fine();
    plane.writes_nothing(200, Method::PUT, &scale, "json", &more).await;
    more["spec"]["replicas"] = 9.into();
    plane.writes(Method::PUT, &scale, "json", &more).await;
    let mut ready = plane.client.get(ONE).await.fine();
    plane.writes_nothing(200, Method::PUT, &format!("{ONE}/status"), "json", &ready).await;
    ready["status"]["ready"] = false.into();
    plane.writes(Method::PUT, &format!("{ONE}/status"), "json", &ready).await;

    plane.writes(Method::POST, CONFIGS, "json", &json!({"metadata": {"name": "c"}})).await;
    plane.patches(CONFIG, "strategic-merge-patch+json", &json!({"data": {"k": "v"}})).await;
}

async fn deleted(plane: &CountedRevisions) {
    plane.writes_nothing(200, Method::DELETE, &format!("{CONFIG}?dryRun=All"), "json", &Value::Null).await;
    plane.takes(Method::DELETE, CONFIG, "json", &Value::Null).await;
    plane.writes_nothing(404, Method::DELETE, CONFIG, "json", &Value::Null).await;

    plane.patches(ONE, MERGE, &json!({"metadata": {"finalizers": ["example.com/hold"]}})).await;
    plane.writes(Method::DELETE, ONE, "json", &Value::Null).await;
    plane.writes_nothing(200, Method::DELETE, ONE, "json", &Value::Null).await;
    plane.takes(Method::PATCH, ONE, MERGE, &json!({"metadata": {"finalizers": null}})).await;
    assert_eq!(plane.client.get(ONE).await.code, 404);

    plane.writes(Method::POST, ALL, "json", &object("a")).await;
    let waits = format!("{ONE}?propagationPolicy=Foreground");
    plane.writes(Method::DELETE, &waits, "json", &Value::Null).await;
    plane.takes(Method::PATCH, ONE, MERGE, &json!({"metadata": {"finalizers": null}})).await;

    // A collection is as many writes as there are objects in it.
    for name in ["p", "q"] {
        plane.client.post(ALL, &object(name)).await.fine();
    }
    let all = plane.client.get(ALL).await.fine()["items"].as_array().unwrap().len() as u64;
    let before = plane.revision().await;
    plane.client.delete(&format!("{ALL}?dryRun=All")).await.fine();
    assert_eq!(plane.revision().await, before);
    plane.client.delete(ALL).await.fine();
    assert_eq!((plane.revision().await, all), (before + 3, 3));
}

async fn through_a_handle(plane: &CountedRevisions) {
    let handle: Handle<Widget> = plane.server.handle(Identity::admin());
    let any = Preconditions::default();
    let at = plane.revision().await;
    handle.create(&widget("a", "red"), None).await.unwrap();
    assert_eq!(plane.revision().await, at + 1);
    handle.create(&widget("a", "red"), None).await.unwrap_err();
    assert_eq!(plane.revision().await, at + 1, "it is there");
    for _ in 0..2 {
        handle.update(&widget("a", "blue"), &any).await.unwrap();
        assert_eq!(plane.revision().await, at + 2, "once");
    }
    let mut up = widget("a", "blue");
    up.status = Some(WidgetStatus { phase: "Up".into() });
    for _ in 0..2 {
        handle.update_status(&up, &any).await.unwrap();
        assert_eq!(plane.revision().await, at + 3, "once");
    }
    let body = json!({"spec": {"size": 9}}).to_string().into_bytes().into();
    let patch = Patch { format: PatchFormat::Merge, body, status: false };
    for _ in 0..2 {
        handle.patch(&key("a"), &patch, &any).await.unwrap();
        assert_eq!(plane.revision().await, at + 4, "once");
    }
    handle.delete(&key("a"), &Deletion::default()).await.unwrap();
    assert_eq!(plane.revision().await, at + 5);
    handle.delete(&key("a"), &Deletion::default()).await.unwrap_err();
    assert_eq!(plane.revision().await, at + 5);
}
