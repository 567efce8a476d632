//! Events expire an hour after their last write, by the clock of the server.

use std::sync::Arc;
use std::sync::atomic::{AtomicI64, Ordering};
use std::time::Duration;

use jiff::Timestamp;
use machinery_apiserver::ApiServer;
use machinery_store::{Memory, Options};
use serde_json::{Value, json};

use crate::client::Client;

const EVENTS: &str = "/api/v1/namespaces/default/events";
const BEGINS: i64 = 1_700_000_000;
const HOUR: i64 = 3600;

fn event(name: &str) -> Value {
    json!({
        "metadata": {"name": name}, "reason": "Tried", "message": "it was tried", "type": "Normal",
        "involvedObject": {"kind": "ConfigMap", "name": "c", "namespace": "default"},
    })
}

/// Starts a server whose clock has this second until another is stored.
async fn server_at(second: i64) -> (ApiServer, Client, Arc<AtomicI64>) {
    let seconds = Arc::new(AtomicI64::new(second));
    let clock = Arc::clone(&seconds);
    let server = ApiServer::builder(Memory::new(Options::default()))
        .clock(move || Timestamp::from_second(clock.load(Ordering::Relaxed)).unwrap());
    let server = server.start().await.unwrap();
    let client = Client::of(&server);
    (server, client, seconds)
}

/// Regression: a wall clock a year ahead for seconds deleted every Event.
#[tokio::test(start_paused = true)]
async fn a_clock_that_jumps_ahead_deletes_no_recent_event() {
    const BEGINS: i64 = 1_800_000_000;
    let (server, client, seconds) = server_at(BEGINS).await;
    client.post(EVENTS, &event("recent")).await.fine();
    for (ahead, minutes, expected) in [(8760 * HOUR, 3, 200), (180, 3, 200), (8760 * HOUR, 66, 404)] {
        seconds.store(BEGINS + ahead, Ordering::Relaxed);
        tokio::time::sleep(Duration::from_secs(minutes * 60)).await;
        let found = client.get(&format!("{EVENTS}/recent")).await.code;
        assert_eq!(found, expected, "{ahead} s ahead for {minutes} minutes");
    }
    server.stop().await;
}

#[tokio::test(start_paused = true)]
async fn events_expire_one_hour_after_their_last_write() {
    let (server, client, seconds) = server_at(BEGINS).await;
    let path = |name: &str| format!("{EVENTS}/{name}");
    // The server checks once a minute: two minutes are enough to reach this time.
    let at = async |second: i64| {
        seconds.store(BEGINS + second, Ordering::Relaxed);
        tokio::time::sleep(Duration::from_secs(120)).await;
    };

    for name in ["once", "again"] {
        client.post(EVENTS, &event(name)).await.fine();
    }
    let config = json!({"metadata": {"name": "c"}});
    client.post("/api/v1/namespaces/default/configmaps", &config).await.fine();
    at(HOUR / 2).await;
    client.merge(&path("again"), &json!({"count": 2})).await.fine();
    at(HOUR).await;
    let codes = async || [client.get(&path("once")).await.code, client.get(&path("again")).await.code];
    assert_eq!(codes().await, [200, 200], "an hour is not over yet");
    at(HOUR + 1).await;
    assert_eq!(codes().await, [404, 200], "one was written again");
    at(HOUR * 3 / 2).await;
    assert_eq!(codes().await, [404, 200]);
    at(HOUR * 3 / 2 + 1).await;
    assert_eq!(codes().await, [404, 404]);
    client.get("/api/v1/namespaces/default/configmaps/c").await.fine();
    server.stop().await;
}
