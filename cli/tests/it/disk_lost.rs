//! A data directory that is moved, deleted or unlocked while a server uses it.

use std::fs;
use std::path::Path;
use std::time::Duration;

use http::Method;
use rustix::process::Signal;
use serde_json::{Value, json};
use tokio::time::{sleep, timeout};

use crate::client::Connection;
use crate::program::{ServerProcess, TIMEOUT, run};

const MAPS: &str = "/api/v1/namespaces/default/configmaps";
const DISK: [&str; 4] = ["--listen", "127.0.0.1:0", "--data-dir", "data"];

fn map(name: &str) -> Value {
    json!({"metadata": {"name": name}})
}

async fn create(client: &mut Connection, name: &str) -> (u16, Value) {
    client.request(Method::POST, MAPS, Some(&map(name))).await.unwrap()
}

async fn names(client: &mut Connection) -> Vec<String> {
    let (code, list) = client.get(MAPS).await;
    assert_eq!(code, 200, "{list}");
    let items = list["items"].as_array().unwrap().iter();
    let names = items.map(|item| item["metadata"]["name"].as_str().unwrap().to_owned());
    // Later versions create further ones.
    names.filter(|name| name.starts_with("my-")).collect()
}

async fn becomes_unready(client: &mut Connection) -> String {
    let unready = async {
        loop {
            let (code, text) = client.get("/readyz").await;
            if code == 500 {
                return text.as_str().unwrap().to_owned();
            }
            sleep(Duration::from_millis(50)).await;
        }
    };
    timeout(TIMEOUT, unready).await.expect("it is noticed")
}

fn copy(from: &Path, to: &Path) {
    fs::create_dir(to).unwrap();
    for entry in fs::read_dir(from).unwrap() {
        let entry = entry.unwrap();
        match entry.file_type().unwrap().is_dir() {
            true => copy(&entry.path(), &to.join(entry.file_name())),
            false => drop(fs::copy(entry.path(), to.join(entry.file_name())).unwrap()),
        }
    }
}

/// A way to lose the directory: its name, its effect on the home directory, and whether files are
/// left.
type Loss = (&'static str, fn(&Path), bool);

const WAYS: [Loss; 4] = [
    ("moved", |home| fs::rename(home.join("data"), home.join("moved")).unwrap(), true),
    (
        "replaced by a backup",
        |home| {
            fs::rename(home.join("data"), home.join("moved")).unwrap();
            copy(&home.join("moved"), &home.join("data"));
        },
        true,
    ),
    ("deleted", |home| fs::remove_dir_all(home.join("data")).unwrap(), false),
    ("its store is deleted", |home| fs::remove_dir_all(home.join("data/store")).unwrap(), false),
];

/// Story: eleven of eleven writes were acknowledged after the directory was moved, and were gone.
#[tokio::test]
async fn a_data_directory_moved_or_deleted_while_it_serves_is_noticed_before_the_next_acknowledgement() {
    for (what, lose, is_left) in WAYS {
        let home = tempfile::tempdir().unwrap();
        let serving = ServerProcess::start(&DISK, home.path()).await;
        let mut client = Connection::to(&serving.access).await.unwrap();
        assert_eq!(create(&mut client, "my-first").await.0, 201);
        lose(home.path());
        for count in 0..11 {
            let (code, answer) = create(&mut client, &format!("my-{count}")).await;
            assert_eq!(code, 503, "{what}: {answer}");
            let text = answer["message"].as_str().unwrap();
            assert!(
                text.contains("data/store") && text.contains("not the directory that was opened"),
                "{text}"
            );
            assert!(text.contains("put the directory back in its place"), "{text}");
        }
        let text = becomes_unready(&mut client).await;
        assert!(text.contains("[-]etcd-readiness failed") && text.contains("not the directory"), "{text}");
        assert_eq!(names(&mut client).await, ["my-first"], "{what}: reads go on");
        if !is_left {
            // Certificates are looked at in the same interval.
            serving.wait_for_stderr("the store is degraded: ").await;
        }
        let mut another = Connection::to(&serving.access).await.expect("clients know its certificate still");
        assert_eq!(another.get("/livez").await.0, 200);
        serving.signal(Signal::TERM);
        assert_eq!(serving.ended().await.code(), Some(2), "{what}: it did not end well");
        if is_left {
            let moved = ["--listen", "127.0.0.1:0", "--data-dir", "moved"];
            let serving = ServerProcess::start(&moved, home.path()).await;
            let mut client = Connection::to(&serving.access).await.unwrap();
            assert_eq!(names(&mut client).await, ["my-first"], "{what}");
            serving.kill().await;
        }
    }
}

/// Story: the lock file was removed, a second server started, and acknowledged writes of one of
/// them were lost, while `check` called the store sound.
#[tokio::test]
async fn a_lock_file_removed_while_a_server_runs_lets_no_second_server_write() {
    let home = tempfile::tempdir().unwrap();
    let serving = ServerProcess::start(&DISK, home.path()).await;
    let mut client = Connection::to(&serving.access).await.unwrap();
    assert_eq!(create(&mut client, "my-first").await.0, 201);
    fs::remove_file(home.path().join("data/store/lock")).unwrap();
    for arguments in [&[&["serve"], &DISK[..]].concat()[..], &["check", "--data-dir", "data"]] {
        let output = run(arguments, home.path()).await;
        let text = String::from_utf8(output.stderr).unwrap();
        assert!(output.status.code() == Some(2) && text.contains("is open in another process"), "{text}");
    }
    let (code, answer) = create(&mut client, "my-second").await;
    assert!(code == 503 && answer["message"].as_str().unwrap().contains("store/lock"), "{answer}");
    assert!(becomes_unready(&mut client).await.contains("store/lock"));
    assert_eq!(names(&mut client).await, ["my-first"]);
    serving.kill().await;

    let sound = run(&["check", "--data-dir", "data"], home.path()).await;
    assert!(sound.status.success(), "{}", String::from_utf8_lossy(&sound.stderr));
    let serving = ServerProcess::start(&DISK, home.path()).await;
    let mut client = Connection::to(&serving.access).await.unwrap();
    assert_eq!(names(&mut client).await, ["my-first"]);
    assert_eq!(create(&mut client, "my-second").await.0, 201);
    serving.kill().await;
}

/// The server notices also while nobody uses it.
#[tokio::test]
async fn an_idle_server_reports_a_lost_directory() {
    let home = tempfile::tempdir().unwrap();
    let serving = ServerProcess::start(&DISK, home.path()).await;
    fs::rename(home.path().join("data"), home.path().join("moved")).unwrap();
    serving.wait_for_stderr("the store is degraded: ").await;
    assert!(serving.stderr().contains("data/store/lock is missing"), "{}", serving.stderr());
    serving.kill().await;
}
