//! History in memory: bounded by an option, for a store in memory and on the disk.

use http::Method;
use serde_json::json;

use crate::client::Connection;
use crate::program::ServerProcess;

const CONFIGS: &str = "/api/v1/namespaces/default/configmaps";
/// Bytes of each state of the object.
const SIZE: usize = 700_000;
/// Five times as much as the history may take.
const UPDATES: usize = 120;
const HISTORY: u64 = 16 << 20;

/// Bytes of the resident memory of a server: `VmRSS`, or its peak `VmHWM`.
fn resident(server: &ServerProcess, name: &str) -> u64 {
    let status = std::fs::read_to_string(format!("/proc/{}/status", server.id())).unwrap();
    let line = status.lines().find_map(|line| line.strip_prefix(name)).unwrap();
    line.trim_start_matches(':').trim().trim_end_matches(" kB").parse::<u64>().unwrap() << 10
}

async fn check(arguments: &[&str]) {
    let home = tempfile::tempdir().unwrap();
    let arguments = [&["--listen", "127.0.0.1:0", "--history-memory", "16Mi"], arguments].concat();
    let server = ServerProcess::start(&arguments, home.path()).await;
    let mut client = Connection::to(&server.access).await.unwrap();
    let config = |text: &str| json!({"metadata": {"name": "a"}, "data": {"k": text}});
    let first = client.request(Method::POST, CONFIGS, Some(&config("0"))).await.unwrap();
    assert_eq!(first.0, 201);
    // The watch cache of the kind begins with its first list.
    assert_eq!(client.request(Method::GET, CONFIGS, None).await.unwrap().0, 200);
    let oldest = first.1["metadata"]["resourceVersion"].as_str().unwrap().to_owned();
    let before = resident(&server, "VmRSS");
    for at in 0..UPDATES {
        let text = format!("{at:07}").repeat(SIZE / 7);
        let done = client.request(Method::PUT, &format!("{CONFIGS}/a"), Some(&config(&text))).await.unwrap();
        assert_eq!(done.0, 200, "{}", done.1);
    }
    let more = resident(&server, "VmHWM").saturating_sub(before);
    let most = HISTORY + 32 * SIZE as u64 + (16 << 20);
    assert!(more < most, "{} MiB of at most {} MiB", more >> 20, most >> 20);
    let watch = format!("{CONFIGS}?watch=1&resourceVersion={oldest}&timeoutSeconds=1");
    let (code, answer) = client.request(Method::GET, &watch, None).await.unwrap();
    let expired = if code == 410 { answer["code"].clone() } else { answer["object"]["code"].clone() };
    assert_eq!(expired, 410, "{code}");
}

#[tokio::test]
async fn history_in_memory_takes_no_more_than_its_option() {
    check(&["--memory"]).await;
}

#[tokio::test]
async fn history_on_the_disk_takes_no_more_memory_than_its_option() {
    check(&["--data-dir", "data"]).await;
}
