//! `serve` started on a full file system.

use std::fs;
use std::io::Write as _;
use std::path::Path;

use http::Method;
use rustix::process::Signal;
use serde_json::json;
use tokio::process::Command;

use crate::client::Connection;
use crate::clock::MovedClock;
use crate::mounted::{mounted_home, run_mounted};
use crate::program::{ServerProcess, free_port};

const MAPS: &str = "/api/v1/namespaces/default/configmaps";

/// Takes all space that is left.
fn fill(path: &Path) {
    let mut file = fs::File::create(path).unwrap();
    for bytes in [65_536, 4096, 1] {
        while file.write_all(&vec![1; bytes]).is_ok() {}
    }
}

/// Not a test of its own: works on a file system of 8 MiB in a private mount namespace.
#[tokio::test]
async fn mounted_for_start() {
    let Some(home) = mounted_home().await else { return };
    let data = home.join("data");
    let listen = format!("127.0.0.1:{}", free_port());
    let serve = ["--data-dir", "data", "--listen", &listen];
    let serving = ServerProcess::start(&serve, &home).await;
    let access = serving.access.clone();
    let mut client = Connection::to(&access).await.unwrap();
    let small = json!({"metadata": {"name": "small"}});
    assert_eq!(client.request(Method::POST, MAPS, Some(&small)).await.unwrap().0, 201);
    serving.kill().await;
    // A file system may have `lost+found` at its root.
    let filler = data.join("lost+found");
    fill(&filler);

    // At the address of before, and at another one, for which the kubeconfig cannot be written.
    let elsewhere = format!("127.0.0.1:{}", free_port());
    let out = home.join("out").display().to_string();
    for (listen, more) in [(&listen, vec![]), (&elsewhere, vec!["--kubeconfig-out", out.as_str()])] {
        let serve = [&["--data-dir", "data", "--listen", listen][..], &more[..]].concat();
        let serving = ServerProcess::start(&serve, &home).await;
        let mut client = Connection::to(&serving.access).await.unwrap();
        assert_eq!(client.get(&format!("{MAPS}/small")).await.0, 200);
        // The log has a little space of its own.
        let refused = loop {
            let map = json!({"metadata": {"generateName": "m"}, "data": {"text": "x".repeat(900_000)}});
            let answer = client.request(Method::POST, MAPS, Some(&map)).await.unwrap();
            if answer.0 != 201 {
                break answer;
            }
        };
        assert_eq!(refused.0, 503, "{refused:?}");
        assert!(refused.1["message"].as_str().unwrap().contains("there is no room"), "{refused:?}");
        let (code, text) = client.get("/readyz").await;
        assert!(code == 500 && text.as_str().unwrap().contains("[-]etcd-readiness failed"), "{text}");
        assert_eq!(client.get("/livez").await.0, 200);
        serving.kill().await;
    }
    // The kubeconfig in the full directory cannot be written for another address.
    let mut serving = Command::new(env!("CARGO_BIN_EXE_machinery"))
        .args(["serve", "--data-dir", "data", "--listen", &elsewhere])
        .current_dir(&home)
        .stderr(fs::File::create(home.join("elsewhere")).unwrap())
        .kill_on_drop(true)
        .spawn()
        .unwrap();
    let elsewhere = crate::program::Access { address: elsewhere.parse().unwrap(), ..access.clone() };
    let mut client = loop {
        if let Ok(client) = Connection::to(&elsewhere).await {
            break client;
        }
        tokio::time::sleep(std::time::Duration::from_millis(20)).await;
    };
    assert_eq!(client.get(&format!("{MAPS}/small")).await.0, 200);
    let said = fs::read_to_string(home.join("elsewhere")).unwrap();
    assert!(said.contains("not written, data/kubeconfig.new"), "{said}");
    serving.kill().await.unwrap();

    // Certificates that are due for renewal: the last ones stay in use.
    if let Some(clock) = MovedClock::new(&home) {
        clock.jump(345 * 24 * 3600);
        let serving = ServerProcess::start_with(&serve, &home, &clock.environment()).await;
        let said = serving.stderr();
        assert!(
            said.contains("the last one ends on") && said.contains("another one was not written"),
            "{said}"
        );
        let mut client = Connection::to(&access).await.unwrap();
        assert_eq!(client.get(&format!("{MAPS}/small")).await.0, 200);
        serving.kill().await;
    }

    let serving = ServerProcess::start(&serve, &home).await;
    let mut client = Connection::to(&serving.access).await.unwrap();
    fs::remove_file(&filler).unwrap();
    let fits = json!({"metadata": {"name": "fits"}, "data": {"text": "x".repeat(500_000)}});
    assert_eq!(client.request(Method::POST, MAPS, Some(&fits)).await.unwrap().0, 201);
    assert_eq!(client.get("/readyz").await.0, 200);
    serving.signal(Signal::TERM);
    assert_eq!(serving.ended().await.code(), Some(0));
    println!("@done");
}

#[tokio::test]
async fn a_start_on_a_full_disk_serves_reads() {
    run_mounted("disk_full_start::mounted_for_start").await;
}
