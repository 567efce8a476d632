//! `serve` on a full file system that later has free space.

use std::fs;

use http::Method;
use rustix::process::Signal;
use serde_json::{Value, json};

use crate::client::{Connection, WatchFrames};
use crate::mounted::{mounted_home, run_mounted};
use crate::program::ServerProcess;

const MAPS: &str = "/api/v1/namespaces/default/configmaps";

fn map(name: &str) -> Value {
    json!({"metadata": {"name": name}, "data": {"text": "x".repeat(100_000)}})
}

/// The names of the listed objects, and the list's revision.
async fn names(client: &mut Connection) -> (Vec<String>, String) {
    let (code, list) = client.get(MAPS).await;
    assert_eq!(code, 200, "{list}");
    let items = list["items"].as_array().unwrap().iter();
    let names = items.map(|item| item["metadata"]["name"].as_str().unwrap().to_owned()).collect();
    (names, list["metadata"]["resourceVersion"].as_str().unwrap().to_owned())
}

async fn ready(client: &mut Connection) -> (u16, String) {
    let (code, text) = client.get("/readyz").await;
    (code, text.as_str().unwrap().to_owned())
}

/// Not a test of its own: works on a file system of 8 MiB in a private mount namespace.
#[tokio::test]
async fn mounted_for_serve() {
    let Some(home) = mounted_home().await else { return };
    let data = home.join("data");
    // A file system may have `lost+found` at its root.
    let filler = data.join("lost+found");
    fs::write(&filler, vec![1; 4 << 20]).unwrap();
    let serving = ServerProcess::start(&["--data-dir", "data", "--listen", "127.0.0.1:0"], &home).await;
    let mut client = Connection::to(&serving.access).await.unwrap();
    let mut made = Vec::new();
    let refused = loop {
        let name = format!("m{:03}", made.len());
        let (code, answer) = client.request(Method::POST, MAPS, Some(&map(&name))).await.unwrap();
        if code != 201 {
            break (code, answer);
        }
        made.push(name);
        assert!(made.len() < 100, "the disk is full in the end");
    };
    let says = refused.1["message"].as_str().unwrap();
    assert!(refused.0 == 503 && says.contains("No space left"), "{refused:?}");
    serving.wait_for_stderr("the store is degraded: there is no room").await;
    let (there, last) = names(&mut client).await;
    assert_eq!(
        there.iter().filter(|name| name.starts_with('m')).collect::<Vec<_>>(),
        made.iter().collect::<Vec<_>>()
    );
    let (code, text) = ready(&mut client).await;
    assert!(code == 500 && text.contains("[-]etcd-readiness failed"), "{text}");
    assert_eq!(client.get("/livez").await.0, 200);
    let mut follower = Connection::to(&serving.access).await.unwrap();
    let from_last = format!("{MAPS}?watch=1&resourceVersion={last}");
    let (_, body) = follower.send(Method::GET, &from_last, None).await.unwrap();
    let running = WatchFrames::of(body);

    fs::remove_file(&filler).unwrap();
    serving.wait_for_stderr("the store has recovered").await;
    assert_eq!(ready(&mut client).await.0, 200);
    let id = serving.id();
    for name in ["n1", "n2"] {
        let (code, answer) = client.request(Method::POST, MAPS, Some(&map(name))).await.unwrap();
        assert_eq!(code, 201, "{answer}");
    }
    let mut again = Connection::to(&serving.access).await.unwrap();
    let (_, body) = again.send(Method::GET, &from_last, None).await.unwrap();
    for mut frames in [running, WatchFrames::of(body)] {
        for name in ["n1", "n2"] {
            let frame = frames.next().await.unwrap();
            assert_eq!(
                (&frame["type"], &frame["object"]["metadata"]["name"]),
                (&json!("ADDED"), &json!(name))
            );
        }
    }
    assert_eq!(serving.id(), id, "the server was not restarted");
    let before = names(&mut client).await;
    serving.signal(Signal::TERM);
    assert_eq!(serving.ended().await.code(), Some(0));

    let serving = ServerProcess::start(&["--data-dir", "data", "--listen", "127.0.0.1:0"], &home).await;
    let mut client = Connection::to(&serving.access).await.unwrap();
    assert_eq!(names(&mut client).await.0, before.0);
    serving.signal(Signal::TERM);
    assert_eq!(serving.ended().await.code(), Some(0));
    println!("@done");
}

#[tokio::test]
async fn a_full_disk_refuses_writes_until_space_is_freed() {
    run_mounted("disk_full::mounted_for_serve").await;
}
