//! Stalled watches: ended within seconds and counted; other watches continue.

use super::*;
use http_body::Body as _;
use hyper::body::Incoming;
use std::future::poll_fn;
use std::pin::Pin;

const WATCH: &str = "/api/v1/namespaces/default/configmaps?watch=1&resourceVersion=0";
const OF_NOTHING: &str = "/api/v1/namespaces/default/configmaps?watch=1&labelSelector=a%3Db";

fn slow(server: &ApiServer) -> [u64; 2] {
    [Event::SlowWatch, Event::SlowReader].map(|event| server.shared().metrics.counted.of(event))
}

/// Causes an event of 700 KiB for all watches.
async fn touch(server: &ApiServer, number: u32) {
    let request = Request::patch("/api/v1/namespaces/default/configmaps/big")
        .header("content-type", "application/merge-patch+json")
        .body(Full::<Bytes>::from(format!(r#"{{"data":{{"b":"{number}"}}}}"#)));
    let made = server.service(Identity::admin()).call(request.expect("a request")).await.expect("an answer");
    assert_eq!(made.status(), 200);
}

async fn watch(sender: &mut Sender, path: &str) -> Incoming {
    let answer = sender.send_request(get(path)).await.expect("an answer");
    assert_eq!(answer.status(), 200);
    answer.into_body()
}

/// Reads at least `bytes`; returns less at the end of the stream.
async fn read(body: &mut Incoming, bytes: usize) -> usize {
    let mut length = 0;
    while length < bytes {
        match poll_fn(|cx| Pin::new(&mut *body).poll_frame(cx)).await {
            Some(Ok(frame)) => length += frame.data_ref().map_or(0, Bytes::len),
            _ => break,
        }
    }
    length
}

#[tokio::test(start_paused = true)]
async fn a_stalled_watch_is_reset_and_others_of_its_connection_continue() {
    let server = server().await;
    let (tasks, mut clients) = (TaskTracker::new(), JoinSet::new());
    let mut sender = http2(connect(&server, &tasks, true), &mut clients).await;
    let mut stalled = watch(&mut sender, WATCH).await;
    let mut taken = watch(&mut sender, WATCH).await;
    let mut of_nothing = watch(&mut sender, OF_NOTHING).await;
    assert!(read(&mut taken, 700 << 10).await >= 700 << 10);
    let stall = Limits::default().watch_stall;
    sleep(stall - Duration::from_secs(1)).await;
    assert_eq!(slow(&server), [0, 0]);
    sleep(Duration::from_secs(2)).await;
    assert_eq!(slow(&server), [1, 0]);
    assert!(read(&mut stalled, usize::MAX).await < 200 << 10, "no more than what it could hold");
    touch(&server, 1).await;
    assert!(read(&mut taken, 700 << 10).await >= 700 << 10, "the other one hears of it");
    // A watch without pending events may be silent indefinitely.
    let hour = timeout(Duration::from_secs(1_000), read(&mut of_nothing, 1));
    hour.await.expect_err("it neither ended nor told anything");
    assert_eq!(slow(&server), [1, 0]);
}

#[tokio::test(start_paused = true)]
async fn a_slowly_read_watch_continues() {
    let server = server().await;
    let (tasks, mut clients) = (TaskTracker::new(), JoinSet::new());
    let mut sender = http2(connect(&server, &tasks, true), &mut clients).await;
    let mut body = watch(&mut sender, WATCH).await;
    let pause = Limits::default().watch_stall - Duration::from_secs(1);
    // Reads as much as the flow-control window allows.
    let (mut length, step) = (0, 33 << 10);
    while length < 700 << 10 {
        sleep(pause).await;
        let read = read(&mut body, step).await;
        assert!(read >= step || length + read >= 700 << 10, "it ended after {length} and {read} bytes");
        length += read;
    }
    assert_eq!(slow(&server), [0, 0]);
}

#[tokio::test(start_paused = true)]
async fn a_stalled_watch_over_http1_closes_the_connection() {
    let server = server().await;
    let tasks = TaskTracker::new();
    let (mut stalled, mut idle) = (connect(&server, &tasks, true), connect(&server, &tasks, true));
    for (client, path) in [(&mut stalled, WATCH), (&mut idle, OF_NOTHING)] {
        let get = GET.replace("/api/v1/namespaces/default", path);
        client.write_all(get.as_bytes()).await.expect("taken");
        assert!(head(client).await.starts_with("HTTP/1.1 200"));
    }
    let stall = Limits::default().watch_stall;
    sleep(stall - Duration::from_secs(1)).await;
    assert_eq!(slow(&server), [0, 0]);
    sleep(Duration::from_secs(2)).await;
    assert_eq!(slow(&server), [1, 0]);
    let mut rest = Vec::new();
    let _ = stalled.read_to_end(&mut rest).await;
    assert!(rest.len() < 100 << 10, "{} bytes", rest.len());
    timeout(Duration::from_secs(1_000), idle.read_u8())
        .await
        .expect_err("it neither ended nor told anything");
    assert_eq!(slow(&server), [1, 0]);
}

/// A socket has buffers of its own, possibly of megabytes, which hide a stall.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_blocked_socket_ends_its_watches_and_a_slow_one_does_not() {
    let limits = Limits { watch_stall: Duration::from_secs(1), ..Limits::default() };
    let server = server_of(limits).await;
    for number in 0..6 {
        add_big(&server, &format!("big-{number}")).await;
    }
    let home = tempfile::tempdir().expect("a directory");
    let listen = Listen::at("127.0.0.1:0".parse().expect("an address"), home.path().join("pki"));
    let client = Secure::to(&server.listen(listen).await.expect("it listens"));
    let get = GET.replace("/api/v1/namespaces/default", WATCH);
    let request = get.replace("\r\n\r\n", &format!("\r\n{}", client.credential));
    let (stalled, mut steady) = (client.say(&request).await, client.say(&request).await);
    // Four of five megabytes in small reads: data is pending all the time.
    let mut bytes = vec![0; 64 << 10];
    for _ in 0..64 {
        steady.read_exact(&mut bytes).await.expect("it goes on");
        sleep(Duration::from_millis(100)).await;
    }
    assert_eq!(slow(&server), [1, 0], "the other one was ended meanwhile");
    drop((stalled, steady));
    server.stop().await;
}
