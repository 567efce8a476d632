//! Concurrent writes during webhook calls.

use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, OnceLock};

use async_trait::async_trait;
use machinery_apiserver::{Admission, ApiServer, Attributes, Denied, Identity, Service};
use machinery_store::{Memory, Options};
use machinery_sync::Mutex;
use serde_json::{Value, json};

use super::hook::{Hook, Reply, configure, mutating, patched, validating, webhook};
use super::{WIDGETS, widget};
use crate::client::{Client, definition, widgets};

/// The webhook writes the number of tags into the size: every committed object has them equal.
#[tokio::test(flavor = "multi_thread")]
async fn a_patch_is_applied_to_the_state_that_is_committed() {
    const WRITERS: usize = 6;
    const WRITES: usize = 8;
    let hook = Hook::new(|_, review| {
        let tags = review["request"]["object"]["spec"]["tags"].as_array().map_or(0, Vec::len);
        patched(&json!([{"op": "add", "path": "/spec/size", "value": tags + 1}]))
    })
    .await;
    let judge = Hook::new(|_, review| {
        let spec = &review["request"]["object"]["spec"];
        let tags = spec["tags"].as_array().map_or(0, Vec::len);
        Reply::Response(json!({"allowed": spec["size"] == tags + 1}))
    })
    .await;
    let (server, client) = widgets().await;
    configure(&client, &mutating("all", &[webhook("counts", &hook.at("/"), &json!({}))])).await;
    configure(&client, &validating("all", &[webhook("judges", &judge.at("/"), &json!({}))])).await;
    client.post(WIDGETS, &widget("a", &json!({"tags": []}))).await.fine();
    let mut writers = tokio::task::JoinSet::new();
    for writer in 0..WRITERS {
        let client = Client::of(&server);
        writers.spawn(async move {
            for write in 0..WRITES {
                let add =
                    json!([{"op": "add", "path": "/spec/tags/-", "value": format!("{writer}/{write}")}]);
                let header = [("content-type", "application/json-patch+json")];
                loop {
                    let path = format!("{WIDGETS}/a");
                    let answer = client.ask(http::Method::PATCH, &path, &header, &add.to_string()).await;
                    if answer.code == 429 {
                        continue; // all rounds were lost
                    }
                    let object = answer.fine();
                    let tags = object["spec"]["tags"].as_array().unwrap().len();
                    assert_eq!(object["spec"]["size"], tags + 1);
                    break;
                }
            }
        });
    }
    while let Some(done) = writers.join_next().await {
        done.unwrap();
    }
    let there = client.get(&format!("{WIDGETS}/a")).await.fine();
    assert_eq!(there["spec"]["size"], WRITERS * WRITES + 1, "no write is lost, and each was counted");
}

/// Writes the widget `a` itself, up to a number of times, whenever an admin's write of it is
/// reviewed.
#[derive(Clone, Default)]
struct Meddler {
    service: Arc<OnceLock<Service>>,
    left: Arc<AtomicUsize>,
    /// The sizes in the reviews.
    judged: Arc<Mutex<Vec<Value>>>,
}

#[async_trait]
impl Admission for Meddler {
    async fn validate(&self, asked: &Attributes<'_>) -> Result<(), Denied> {
        let Some(service) = self.service.get().filter(|_| asked.user.user == "admin") else { return Ok(()) };
        self.judged.lock().push(asked.old.unwrap()["spec"]["size"].clone());
        if self.left.load(Ordering::SeqCst) > 0 {
            let left = self.left.fetch_sub(1, Ordering::SeqCst);
            let client = Client::to(service.clone());
            client.merge(&format!("{WIDGETS}/a"), &json!({"spec": {"size": left + 100}})).await.fine();
        }
        Ok(())
    }
}

/// A server with a widget that is written that many times during another client's write.
async fn meddled(times: usize) -> (ApiServer, Client, Meddler) {
    let meddler = Meddler::default();
    let builder = ApiServer::builder(Memory::new(Options::default())).crds([definition()]);
    let server = builder.admission(meddler.clone()).start().await.unwrap();
    let client = Client::of(&server);
    client.post(WIDGETS, &widget("a", &json!({"size": 1}))).await.fine();
    meddler.left.store(times, Ordering::SeqCst);
    let _ = meddler.service.set(server.service(Identity::new("other")));
    (server, client, meddler)
}

#[tokio::test]
async fn a_change_between_admission_and_commit_repeats_admission() {
    let expected = [json!(1), json!(103), json!(102), json!(101)];
    let (_server, client, meddler) = meddled(3).await;
    let changed = client.merge(&format!("{WIDGETS}/a"), &json!({"spec": {"color": "red"}})).await.fine();
    assert_eq!(changed["spec"], json!({"size": 101, "color": "red"}));
    assert_eq!(*meddler.judged.lock(), expected);

    let (_server, client, meddler) = meddled(3).await;
    client.delete(&format!("{WIDGETS}/a")).await.fine();
    assert_eq!(*meddler.judged.lock(), expected);
}

#[tokio::test]
async fn a_write_that_loses_every_attempt_is_refused_with_a_retry() {
    let (_server, client, meddler) = meddled(1000).await;
    let path = format!("{WIDGETS}/a");
    let refused = client.merge(&path, &json!({"spec": {"color": "red"}})).await;
    assert_eq!((refused.code, refused.refused().1), (429, "TooManyRequests"));
    assert_eq!(client.delete(&path).await.code, 429);
    assert_eq!(meddler.judged.lock().len(), 20, "it is asked ten times, and not for ever");
    // A write with a resourceVersion gets a conflict.
    let old = json!({"metadata": {"resourceVersion": "1"}, "spec": {"color": "red"}});
    assert_eq!(client.merge(&path, &old).await.code, 409);
}
