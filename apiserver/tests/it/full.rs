//! A server whose disk is full: it refuses what it cannot keep, shows all that it has, and goes on when there is room.

use std::sync::Arc;

use machinery_apiserver::ApiServer;
use machinery_store::{Disk, DiskOptions, faulty};
use serde_json::json;

use crate::client::{Client, definition};

const WIDGETS: &str = "/apis/example.com/v1/namespaces/default/widgets";

#[tokio::test]
async fn a_server_on_a_full_disk_reads_and_goes_on_when_there_is_room() {
    let disk = faulty::Disk::new();
    let options = DiskOptions { segment_bytes: 4096, ..DiskOptions::default() };
    let server = async || {
        let store = Disk::open_on(Arc::new(disk.clone()), options.clone()).unwrap();
        let server = ApiServer::builder(store.clone()).crds([definition()]).start().await.unwrap();
        let client = Client::of(&server);
        (store, server, client)
    };
    let widget = |name: &str| {
        let metadata = json!({"name": name, "annotations": {"long": "x".repeat(2000)}});
        json!({"apiVersion": "example.com/v1", "kind": "Widget", "metadata": metadata, "spec": {"size": 1}})
    };
    let (store, first, client) = server().await;
    client.post(WIDGETS, &widget("a")).await.fine();
    let used: usize = disk.contents().values().map(Vec::len).sum();
    disk.limit(used as u64 + 20_000);
    let mut made = vec!["a".to_owned()];
    let refused = loop {
        let name = format!("w{}", made.len());
        let answer = client.post(WIDGETS, &widget(&name)).await;
        if answer.code != 201 {
            break answer;
        }
        made.push(name);
        assert!(made.len() < 100, "it is full at last");
    };
    let unknown = format!("w{}", made.len());
    made.sort();
    assert_eq!(refused.refused().1, "Timeout", "this one may be there, which can be seen later");
    assert!(refused.refused().2.contains("no storage space"), "{refused:?}");
    let next = client.post(WIDGETS, &widget("next")).await;
    assert_eq!((next.code, next.refused().1), (503, "ServiceUnavailable"), "and no more is taken");
    let names = async |client: &Client| {
        let list = client.get(WIDGETS).await.fine();
        let items = list["items"].as_array().unwrap().iter();
        items.map(|item| item["metadata"]["name"].as_str().unwrap().to_owned()).collect::<Vec<_>>()
    };
    assert_eq!(names(&client).await, made, "what was answered is there, and nothing else");
    client.get(&format!("{WIDGETS}/a")).await.fine();
    first.stop().await;
    drop(store.close().await);

    disk.limit(u64::MAX);
    let (_store, second, client) = server().await;
    let mut there = names(&client).await;
    there.retain(|name| *name != unknown);
    assert_eq!(there, made);
    client.post(WIDGETS, &widget("z")).await.fine();
    second.stop().await;
}
