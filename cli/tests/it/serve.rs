//! `machinery serve` from start to shutdown.

use std::fs;
use std::path::Path;
use std::time::Duration;

use http::Method;
use rustix::process::Signal;
use serde_json::json;
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::TcpStream;

use crate::client::{Connection, WatchFrames, stream};
use crate::program::{Access, ServerProcess};

const MAPS: &str = "/api/v1/namespaces/default/configmaps";
const DISK: [&str; 4] = ["--listen", "127.0.0.1:0", "--data-dir", "data"];

#[tokio::test]
async fn serve_prints_its_url_and_kubeconfig() {
    let home = tempfile::tempdir().unwrap();
    fs::create_dir(home.path().join("crds")).unwrap();
    let crd = json!({"apiVersion": "apiextensions.k8s.io/v1", "kind": "CustomResourceDefinition",
        "metadata": {"name": "widgets.example.com"}, "spec": {"group": "example.com", "scope": "Namespaced",
        "names": {"plural": "widgets", "kind": "Widget"}, "versions": [{"name": "v1", "served": true, "storage": true,
        "schema": {"openAPIV3Schema": {"type": "object", "x-kubernetes-preserve-unknown-fields": true}}}]}});
    fs::write(home.path().join("crds/widgets.json"), crd.to_string()).unwrap();
    let kinds = |serving: &ServerProcess| {
        let words: Vec<String> = serving.lines[0].split("; ").map(str::to_owned).collect();
        assert_eq!(words[0], format!("serving https://{}", serving.access.address));
        (words[1].strip_suffix(" kinds").unwrap().parse::<usize>().unwrap(), words[2].clone())
    };
    let plain = ServerProcess::start(&["--listen", "127.0.0.1:0", "--memory"], home.path()).await;
    let (few, kept) = kinds(&plain);
    assert_eq!(kept, "data in memory");
    let temporary = plain.kubeconfig.parent().unwrap().to_owned();
    plain.signal(Signal::INT);
    assert!(plain.ended().await.success());
    assert!(!temporary.exists(), "the temporary directory is removed");

    let more = ["--crds", "crds", "--kubeconfig-out", "out/config"];
    let serving = ServerProcess::start(&[&DISK[..], &more].concat(), home.path()).await;
    assert_eq!(kinds(&serving), (few + 1, "data in data".to_owned()));
    assert_eq!(serving.kubeconfig, home.path().join("out/config"));
    let mut client = Connection::to(&serving.access).await.unwrap();
    assert_eq!(client.get("/apis/example.com/v1/widgets").await.0, 200);
    for health in ["/livez", "/readyz", "/healthz"] {
        assert_eq!(client.get(health).await, (200, json!("ok")));
        let (_, verbose) = client.get(&format!("{health}?verbose")).await;
        assert!(verbose.as_str().unwrap().contains("[+]etcd ok\n"), "{verbose}");
    }
    let (_, page) = client.get("/metrics").await;
    assert!(page.as_str().unwrap().contains("machinery_connections 1\n"), "{page}");
    serving.kill().await;
}

#[tokio::test]
async fn a_signal_ends_watches_and_stops_the_server() {
    let home = tempfile::tempdir().unwrap();
    let serving = ServerProcess::start(&DISK, home.path()).await;
    let address = serving.access.address;
    let mut watching = Connection::to(&serving.access).await.unwrap();
    let mut writing = Connection::to(&serving.access).await.unwrap();
    let (_, body) = watching
        .send(Method::GET, &format!("{MAPS}?watch=1&fieldSelector=metadata.name%3Done"), None)
        .await
        .unwrap();
    let mut frames = WatchFrames::of(body);
    let map = json!({"metadata": {"name": "one"}});
    assert_eq!(writing.request(Method::POST, MAPS, Some(&map)).await.unwrap().0, 201);
    assert_eq!(frames.next().await.unwrap()["type"], "ADDED");
    // Two signals at once count as one.
    serving.signal(Signal::TERM);
    serving.signal(Signal::TERM);
    // The watch ends with a complete response, and the connection is not cut off.
    assert!(frames.ends().await);
    serving.wait_for_stderr("stopping after the requests in flight").await;
    assert_eq!(serving.ended().await.code(), Some(0));
    assert!(TcpStream::connect(address).await.is_err());
}

#[tokio::test]
async fn requests_in_flight_finish_before_shutdown() {
    let home = tempfile::tempdir().unwrap();
    let serving = ServerProcess::start(&DISK, home.path()).await;
    let mut begun = stream(&serving.access).await.unwrap();
    let map = json!({"metadata": {"name": "begun"}}).to_string();
    let head = format!(
        "POST {MAPS} HTTP/1.1\r\nhost: localhost\r\nauthorization: Bearer {}\r\ncontent-type: application/json\r\n\
         content-length: {}\r\nexpect: 100-continue\r\n\r\n",
        serving.access.token,
        map.len(),
    );
    begun.write_all(head.as_bytes()).await.unwrap();
    let mut go_on = [0; 25];
    begun.read_exact(&mut go_on).await.unwrap();
    assert_eq!(&go_on, b"HTTP/1.1 100 Continue\r\n\r\n");
    serving.signal(Signal::TERM);
    serving.wait_for_stderr("stopping").await;
    begun.write_all(map.as_bytes()).await.unwrap();
    let mut answer = Vec::new();
    begun.read_to_end(&mut answer).await.unwrap();
    assert!(answer.starts_with(b"HTTP/1.1 201 Created"), "{}", String::from_utf8_lossy(&answer));
    assert_eq!(serving.ended().await.code(), Some(0));

    let serving = ServerProcess::start(&DISK, home.path()).await;
    let mut client = Connection::to(&serving.access).await.unwrap();
    assert_eq!(client.get(&format!("{MAPS}/begun")).await.0, 200);
    serving.kill().await;
}

#[tokio::test]
async fn a_second_signal_stops_the_server_at_once() {
    let home = tempfile::tempdir().unwrap();
    let serving = ServerProcess::start(&["--listen", "127.0.0.1:0", "--memory"], home.path()).await;
    let temporary = serving.kubeconfig.parent().unwrap().to_owned();
    // A connection without a request delays the shutdown.
    let _silent = TcpStream::connect(serving.access.address).await.unwrap();
    let mut client = Connection::to(&serving.access).await.unwrap();
    client.get("/livez").await;
    serving.signal(Signal::TERM);
    serving.wait_for_stderr("stopping").await;
    while !serving.stderr().contains("stopped at once") {
        serving.signal(Signal::TERM);
        tokio::time::sleep(Duration::from_millis(20)).await;
    }
    assert_eq!(serving.ended().await.code(), Some(1));
    assert!(!temporary.exists());
}

#[tokio::test]
async fn a_restart_keeps_objects_certificates_and_tokens() {
    let home = tempfile::tempdir().unwrap();
    let first = ServerProcess::start(&DISK, home.path()).await;
    let mut client = Connection::to(&first.access).await.unwrap();
    let (_, made) =
        client.request(Method::POST, MAPS, Some(&json!({"metadata": {"name": "one"}}))).await.unwrap();
    let (access, pki) = (first.access.clone(), files(&home.path().join("data/pki")));
    first.signal(Signal::TERM);
    assert!(first.ended().await.success());

    let second = ServerProcess::start(&DISK, home.path()).await;
    assert_eq!(Access { address: access.address, ..second.access.clone() }, access);
    assert_eq!(files(&home.path().join("data/pki")), pki);
    let mut client = Connection::to(&second.access).await.unwrap();
    assert_eq!(client.get(&format!("{MAPS}/one")).await, (200, made));
    second.kill().await;
}

fn files(directory: &Path) -> Vec<(String, Vec<u8>)> {
    let entries = fs::read_dir(directory).unwrap().map(|entry| entry.unwrap().path());
    let mut files: Vec<_> =
        entries.map(|path| (path.display().to_string(), fs::read(&path).unwrap())).collect();
    files.sort();
    files
}

/// Writes a certificate for `localhost` and its key, and returns the certificate.
fn put(home: &Path) -> String {
    let made = rcgen::generate_simple_self_signed(["localhost".to_owned()]).unwrap();
    fs::write(home.join("k"), made.signing_key.serialize_pem()).unwrap();
    fs::write(home.join("c"), made.cert.pem()).unwrap();
    made.cert.pem()
}

#[tokio::test]
async fn certificates_and_tokens_are_reloaded() {
    let home = tempfile::tempdir().unwrap();
    put(home.path());
    let tls = ["--tls-cert", "c", "--tls-key", "k", "--host", "localhost"];
    let serving = ServerProcess::start(&[&DISK[..], &tls].concat(), home.path()).await;
    let mut old = Connection::to(&serving.access).await.unwrap();
    assert_eq!(old.get(MAPS).await.0, 200);

    // Reload by SIGHUP.
    let ca = put(home.path());
    let tokens = home.path().join("data/pki/tokens.csv");
    let text = fs::read_to_string(&tokens).unwrap();
    fs::write(&tokens, format!("{text}another,ann,1,system:masters\n")).unwrap();
    serving.signal(Signal::HUP);
    serving.wait_for_stderr("certificates and tokens reloaded").await;
    let other = Access { ca, token: "another".to_owned(), ..serving.access.clone() };
    let mut new = Connection::to(&other).await.unwrap();
    assert_eq!([old.get(MAPS).await.0, new.get(MAPS).await.0], [200, 200]);
    assert!(Connection::to(&serving.access).await.is_err(), "the old certificate is no longer presented");

    // Reload without a signal, of an invalid file.
    fs::write(home.path().join("c"), "no certificate").unwrap();
    serving
        .wait_for_stderr("not reloaded, the previous one stays in use: c: there is no certificate in it")
        .await;
    let mut newer = Connection::to(&other).await.unwrap();
    assert_eq!([old.get(MAPS).await.0, newer.get(MAPS).await.0], [200, 200]);
    serving.kill().await;
}

#[tokio::test]
async fn the_audit_log_follows_its_policy() {
    let home = tempfile::tempdir().unwrap();
    let policy = include_str!("../../../docs/guides/audit-policy.yaml");
    fs::write(home.path().join("policy.yaml"), policy).unwrap();
    let audit = [
        "--audit-policy-file",
        "policy.yaml",
        "--audit-log-path",
        "audit.log",
        "--audit-log-maxsize",
        "1",
        "--audit-log-maxage",
        "7",
        "--audit-log-maxbackup",
        "2",
    ];
    let serving = ServerProcess::start(&[&DISK[..], &audit].concat(), home.path()).await;
    let mut client = Connection::to(&serving.access).await.unwrap();
    assert_eq!(client.get("/readyz").await.0, 200);
    let map = json!({"metadata": {"name": "one"}, "data": {"k": "v"}});
    assert_eq!(client.request(Method::POST, MAPS, Some(&map)).await.unwrap().0, 201);
    // The event is written before the response.
    let log = fs::read_to_string(home.path().join("audit.log")).unwrap();
    let events: Vec<serde_json::Value> =
        log.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
    assert_eq!(events.len(), 1, "{log}");
    assert_eq!((&events[0]["level"], &events[0]["objectRef"]["name"]), (&json!("Metadata"), &json!("one")));
    assert_eq!(events[0]["sourceIPs"], json!(["127.0.0.1"]));
    assert!(!log.contains(&serving.access.token));
    serving.kill().await;
}
