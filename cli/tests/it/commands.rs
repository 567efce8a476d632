//! Commands on a data directory without a server, completions and `explain`.

use http::Method;
use machinery::store::{Backend as _, Disk, DiskOptions, Transaction};
use rustix::process::Signal;
use serde_json::json;

use crate::client::Connection;
use crate::program::{ServerProcess, run};

const MAPS: &str = "/api/v1/namespaces/default/configmaps";
const SERVE: [&str; 4] = ["--listen", "127.0.0.1:0", "--data-dir", "data"];

/// Standard output of a command that must succeed.
async fn stdout_of(line: &str, home: &std::path::Path) -> String {
    let arguments: Vec<&str> = line.split_whitespace().collect();
    let done = run(&arguments, home).await;
    assert!(done.status.success(), "{done:?}");
    String::from_utf8(done.stdout).unwrap()
}

#[tokio::test]
async fn a_restored_snapshot_serves_its_objects() {
    let home = tempfile::tempdir().unwrap();
    let serving = ServerProcess::start(&SERVE, home.path()).await;
    let mut client = Connection::to(&serving.access).await.unwrap();
    let map = json!({"metadata": {"name": "kept"}, "data": {"a": "b"}});
    let (code, made) = client.request(Method::POST, MAPS, Some(&map)).await.unwrap();
    assert_eq!(code, 201);
    serving.signal(Signal::TERM);
    assert!(serving.ended().await.success());

    let sound = stdout_of("check --data-dir data", home.path()).await;
    assert!(sound.starts_with("sound: ") && sound.contains(" objects at revision "), "{sound}");
    let copied = stdout_of("snapshot copy --data-dir data", home.path()).await;
    assert!(copied.starts_with("copy: everything as of revision "), "{copied}");
    let restored = stdout_of("restore copy --data-dir new", home.path()).await;
    assert!(restored.contains("new begins at revision 1000000"), "{restored}");
    stdout_of("check --data-dir new", home.path()).await;

    let serving = ServerProcess::start(&["--listen", "127.0.0.1:0", "--data-dir", "new"], home.path()).await;
    let mut client = Connection::to(&serving.access).await.unwrap();
    let (code, found) = client.get(&format!("{MAPS}/kept")).await;
    assert_eq!(
        (code, &found["metadata"]["uid"], &found["data"]),
        (200, &made["metadata"]["uid"], &map["data"])
    );
    // Clients of the old server must list again.
    let revision = made["metadata"]["resourceVersion"].as_str().unwrap();
    let (_, expired) =
        client.get(&format!("{MAPS}?watch=1&timeoutSeconds=5&resourceVersion={revision}")).await;
    assert_eq!((&expired["type"], &expired["object"]["code"]), (&json!("ERROR"), &json!(410)), "{expired}");
    serving.kill().await;
}

#[tokio::test]
async fn check_does_not_count_guard_records() {
    let home = tempfile::tempdir().unwrap();
    let data = home.path().join("data");
    std::fs::create_dir(&data).unwrap();
    let store = Disk::open(data.join("store"), DiskOptions::default()).unwrap();
    let written = Transaction::new()
        .put("example.com/subnets/default/a", *b"{}")
        .put("example.com/subnets/default/b", *b"{}")
        .put("/guards/example.com/subnets/disjoint/=vni/17", *b"");
    store.commit(written).await.unwrap();
    store.close().await.unwrap();
    let sound = stdout_of("check --data-dir data", home.path()).await;
    assert!(sound.starts_with("sound: 2 objects at revision "), "{sound}");
}

#[tokio::test]
async fn completions_are_printed_for_each_shell() {
    let home = tempfile::tempdir().unwrap();
    for shell in ["bash", "zsh", "fish"] {
        let script = stdout_of(&format!("completions {shell}"), home.path()).await;
        assert!(script.contains("kubeconfig-out") && script.contains("snapshot"), "{script}");
    }
}

#[tokio::test]
async fn explain_shows_causes_and_result_of_a_run() {
    use machinery::{Next, Run};
    use std::sync::Arc;

    let home = tempfile::tempdir().unwrap();
    let plane = machinery::embedded().start().await.unwrap();
    let at = plane.diagnostics("127.0.0.1:0".parse().unwrap()).await.unwrap();
    // Each server has the namespace `default` from its start.
    let reconcile = |_: Arc<machinery::k8s_openapi::api::core::v1::Namespace>, _: Run| async {
        Err::<Next, _>("it has no owner")
    };
    let controller =
        plane.controller::<machinery::k8s_openapi::api::core::v1::Namespace>("namespaces").unwrap();
    plane.spawn(async move { controller.run(reconcile).await.map(drop) });
    let end = tokio::time::Instant::now() + std::time::Duration::from_secs(60);
    let text = loop {
        let text = stdout_of(&format!("explain namespace default --at {at}"), home.path()).await;
        if text.contains("it has no owner") || tokio::time::Instant::now() > end {
            break text;
        }
    };
    for line in
        ["namespaces default, by the controller namespaces", "because    namespaces added", "next run   in"]
    {
        assert!(text.contains(line), "{line} in {text}");
    }
    plane.stop().await;
}
