//! A server with a full disk or store: it refuses writes, serves all reads, and recovers when there
//! is space.

use std::sync::Arc;
use std::time::Duration;

use machinery_apiserver::ApiServer;
use machinery_store::{Backend as _, Disk, DiskOptions, Limits, Memory, Options, faulty};
use serde_json::{Value, json};
use tokio::time::timeout;

use crate::client::{Client, definition};

const WIDGETS: &str = "/apis/example.com/v1/namespaces/default/widgets";

fn widget(name: &str) -> Value {
    let metadata = json!({"name": name, "annotations": {"long": "x".repeat(2000)}});
    json!({"apiVersion": "example.com/v1", "kind": "Widget", "metadata": metadata, "spec": {"size": 1}})
}

async fn names(client: &Client) -> Vec<String> {
    let list = client.get(WIDGETS).await.fine();
    let items = list["items"].as_array().unwrap().iter();
    items.map(|item| item["metadata"]["name"].as_str().unwrap().to_owned()).collect()
}

/// Creates widgets until one is refused. Returns the names of the created ones, and the refusal.
async fn fill(client: &Client) -> (Vec<String>, crate::client::Answer) {
    let mut made = Vec::new();
    loop {
        let name = format!("w{:03}", made.len());
        let answer = client.post(WIDGETS, &widget(&name)).await;
        if answer.code != 201 {
            return (made, answer);
        }
        made.push(name);
        assert!(made.len() < 1000, "it is full at last");
    }
}

#[tokio::test]
async fn a_server_on_a_full_disk_serves_reads_and_recovers() {
    let disk = faulty::FaultyDisk::new();
    // A thread that allocates segments in advance uses disk space temporarily.
    let options = DiskOptions { segment_bytes: 4096, background: false, ..DiskOptions::default() };
    let store = Disk::open_on(Arc::new(disk.clone()), options.clone()).unwrap();
    let server = ApiServer::builder(store.clone()).crds([definition()]).start().await.unwrap();
    let client = Client::of(&server);
    assert_eq!(client.get("/readyz").await.code, 200);
    let used: usize = disk.contents().values().map(Vec::len).sum();
    disk.limit(used as u64 + 20_000);
    let (mut made, refused) = fill(&client).await;
    assert_eq!((refused.code, refused.refused().1), (503, "ServiceUnavailable"), "it is not there");
    assert!(refused.refused().2.contains("no storage space"), "{refused:?}");
    assert_eq!(names(&client).await, made, "what was answered is there, and nothing else");
    client.get(&format!("{WIDGETS}/w000")).await.fine();
    let ready = client.get("/readyz").await;
    assert_eq!(ready.code, 500);
    let said = ready.body.as_str().unwrap();
    assert!(said.contains("[-]etcd-readiness failed") && said.contains("no storage space"), "{said}");
    let why = client.get("/readyz/etcd-readiness").await;
    assert!(why.code == 500 && why.body.as_str().unwrap().contains("no storage space"), "{why:?}");
    for path in ["/livez", "/healthz"] {
        assert_eq!(client.get(path).await.code, 200, "{path}: to start it anew would not help");
    }

    disk.limit(u64::MAX);
    assert_eq!(client.get("/readyz").await.code, 200, "it has found out by itself, though nobody wrote");
    client.post(WIDGETS, &widget("z")).await.fine();
    made.push("z".into());
    assert_eq!(names(&client).await, made);
    server.stop().await;
    store.close().await.unwrap();

    let store = Disk::open_on(Arc::new(disk), options).unwrap();
    let server = ApiServer::builder(store).crds([definition()]).start().await.unwrap();
    assert_eq!(names(&Client::of(&server)).await, made, "and so it is on the disk");
    server.stop().await;
}

/// Deletions that first mark the object were refused like all other puts: a full store could only
/// be emptied by deleting its files.
#[tokio::test]
async fn a_store_at_its_quota_is_emptied_through_the_api() {
    let limits = Limits { quota_bytes: 400_000, ..Limits::default() };
    let store = Memory::new(Options { limits, ..Options::default() });
    let server = ApiServer::builder(store.clone()).crds([definition()]).start().await.unwrap();
    let client = Client::of(&server);
    client.post("/api/v1/namespaces", &json!({"metadata": {"name": "doomed"}})).await.fine();
    let doomed = WIDGETS.replace("default", "doomed");
    for name in ["a", "b", "c"] {
        client.post(&doomed, &widget(name)).await.fine();
    }
    let mut held = widget("held");
    held["metadata"]["finalizers"] = json!(["example.com/one", "example.com/two"]);
    client.post(WIDGETS, &held).await.fine();
    let (made, refused) = fill(&client).await;
    assert_eq!((refused.code, refused.refused().1), (507, "InsufficientStorage"));
    assert!(refused.refused().2.contains("quota") && refused.body["details"]["retryAfterSeconds"].is_null());
    assert_eq!(client.get("/readyz").await.code, 200, "deletes must come through");

    let held = format!("{WIDGETS}/held");
    assert!(client.delete(&held).await.fine()["metadata"]["deletionTimestamp"].is_string());
    for left in [json!(["example.com/two"]), json!([])] {
        client.merge(&held, &json!({"metadata": {"finalizers": left}})).await.fine();
    }
    assert_eq!(client.get(&held).await.code, 404);
    let foreground = format!("{WIDGETS}/{}?propagationPolicy=Foreground", made[0]);
    client.delete(&foreground).await.fine();
    client.delete(&format!("{WIDGETS}/{}", made[1])).await.fine();
    client.delete("/api/v1/namespaces/doomed").await.fine();
    for path in [format!("{WIDGETS}/{}", made[0]), "/api/v1/namespaces/doomed".to_owned()] {
        let gone = async {
            while client.get(&path).await.code != 404 {
                tokio::time::sleep(Duration::from_millis(10)).await;
            }
        };
        timeout(Duration::from_secs(60), gone).await.unwrap_or_else(|_| panic!("{path} goes"));
    }
    assert_eq!(client.post(WIDGETS, &widget("new")).await.code, 507, "history is held still");
    store.compact(store.revision().await.unwrap()).await.unwrap();
    client.post(WIDGETS, &widget("new")).await.fine();
    server.stop().await;
}
