//! Fixtures of the quota tests.

use std::time::Duration;

use machinery_apiserver::ApiServer;
use machinery_store::{Backend, KeySpan, Memory, Options, Range};
use serde_json::{Value, json};
use tokio::task::JoinHandle;
use tokio_util::task::TaskTracker;

use crate::client::{Answer, Client, definition};

pub(crate) const QUOTAS: &str = "/api/v1/namespaces/default/resourcequotas";
pub(crate) const QUOTA: &str = "/api/v1/namespaces/default/resourcequotas/q";
pub(crate) const SECRETS: &str = "/api/v1/namespaces/default/secrets";
pub(crate) const MAPS: &str = "/api/v1/namespaces/default/configmaps";
pub(crate) const PODS: &str = "/api/v1/namespaces/default/pods";
pub(crate) const WIDGETS: &str = "/apis/example.com/v1/namespaces/default/widgets";

/// A server with a store in memory, and the administrator's client.
pub(crate) async fn server() -> (ApiServer, Memory, Client) {
    let store = Memory::new(Options::default());
    let server = on(&store).await;
    let client = Client::of(&server);
    (server, store, client)
}

pub(crate) async fn on(store: &(impl Backend + Clone)) -> ApiServer {
    ApiServer::builder(store.clone()).crds([definition()]).start().await.unwrap()
}

/// Does something on another thread, perhaps.
pub(crate) fn beside<T: Send + 'static>(task: impl Future<Output = T> + Send + 'static) -> JoinHandle<T> {
    TaskTracker::new().spawn(task)
}

/// The quota `q`.
pub(crate) fn quota(hard: &Value) -> Value {
    json!({"metadata": {"name": "q"}, "spec": {"hard": hard}})
}

pub(crate) fn named(name: &str) -> Value {
    json!({"metadata": {"name": name}})
}

pub(crate) fn pod(name: &str) -> Value {
    json!({"metadata": {"name": name}, "spec": {"containers": [{"name": "c", "image": "i"}]}})
}

pub(crate) fn widget(name: &str) -> Value {
    json!({"apiVersion": "example.com/v1", "kind": "Widget", "metadata": {"name": name}, "spec": {}})
}

/// Waits until the object has this status.
#[track_caller]
pub(crate) fn says<'a>(
    client: &'a Client,
    path: &'a str,
    expected: Value,
) -> impl Future<Output = Value> + 'a {
    let caller = std::panic::Location::caller();
    async move {
        let mut found = Value::Null;
        for _ in 0..1000 {
            let answer = client.get(path).await;
            if answer.code == 200 {
                found = answer.body;
                if found["status"] == expected {
                    return found;
                }
            }
            tokio::time::sleep(Duration::from_millis(10)).await;
        }
        panic!("{caller}: {path} does not say {expected}: {found:#}");
    }
}

/// Expects a refusal for an exceeded quota.
#[track_caller]
pub(crate) fn exceeds(answer: &Answer) {
    let (code, reason, message) = answer.refused();
    assert_eq!((code, reason), (403, "Forbidden"), "{answer:#?}");
    assert!(message.contains("exceeded quota: "), "{message}");
}

/// How many records of namespaces with quotas are in the store.
pub(crate) async fn records(store: &impl Backend) -> usize {
    store.range(Range::of(KeySpan::prefix("/quotas/"))).await.unwrap().entries.len()
}

pub(crate) async fn how_many(client: &Client, path: &str) -> usize {
    client.get(path).await.fine()["items"].as_array().unwrap().len()
}
