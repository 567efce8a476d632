//! Regression: connections of clients without credentials were kept, and took all places: 288 of
//! 288 for a minute, and the administrator got in 0 of 15 times.

use std::time::Duration;

use machinery_apiserver::{Access, ApiServer, Limits, Listen};
use machinery_store::{Memory, Options};
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::TcpStream;
use tokio::task::JoinSet;
use tokio::time::timeout;
use tokio_rustls::client::TlsStream;

use crate::tls;

/// Time of an administrator's request with its connection, on a busy machine.
const SOON: Duration = Duration::from_secs(5);
const PLACES: usize = 64;

async fn start(home: &tempfile::TempDir) -> (ApiServer, Access) {
    let limits = Limits { connections: PLACES, ..Limits::default() };
    let server = ApiServer::builder(Memory::new(Options::default())).limits(limits).rbac();
    let server = server.start().await.unwrap();
    let listen = Listen::at("127.0.0.1:0".parse().unwrap(), home.path().join("pki"));
    let access = server.listen(listen).await.unwrap();
    (server, access)
}

async fn connect(access: &Access) -> std::io::Result<TlsStream<TcpStream>> {
    tls::connect(access.address, access.ca.as_ref().unwrap(), "http/1.1", None).await
}

/// Sends a request with this token, and returns the head of the response.
async fn request(stream: &mut TlsStream<TcpStream>, token: &str) -> std::io::Result<String> {
    let request = format!(
        "GET /api/v1/namespaces HTTP/1.1\r\nhost: localhost\r\nauthorization: Bearer {token}\r\n\r\n"
    );
    stream.write_all(request.as_bytes()).await?;
    let mut head = Vec::new();
    while !head.ends_with(b"\r\n\r\n") {
        head.push(stream.read_u8().await?);
    }
    let head = String::from_utf8_lossy(&head).to_lowercase();
    let length = head.split("content-length: ").nth(1).and_then(|rest| rest.split("\r\n").next());
    let mut body = vec![0; length.expect("a length").parse().unwrap()];
    stream.read_exact(&mut body).await?;
    Ok(head)
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn anonymous_connections_do_not_lock_out_the_administrator() {
    let home = tempfile::tempdir().unwrap();
    let (server, access) = start(&home).await;
    let mut early = connect(&access).await.unwrap();
    assert!(request(&mut early, &access.token).await.unwrap().starts_with("http/1.1 200"));
    let (mut silent, mut quiet) = (Vec::new(), JoinSet::new());
    for number in 0..3 * PLACES {
        match number % 2 {
            // No handshake; no request.
            0 => silent.push(TcpStream::connect(access.address).await.unwrap()),
            // All at once: those that wait one after the other would give the first ones time to end.
            _ => {
                let access = access.clone();
                quiet.spawn(async move {
                    let _open = connect(&access).await;
                    std::future::pending::<()>().await;
                });
            }
        }
    }
    for attempt in 0..15 {
        let answered = async { request(&mut connect(&access).await?, &access.token).await };
        let head = timeout(SOON, answered).await.unwrap_or_else(|_| panic!("attempt {attempt} is in time"));
        assert!(head.unwrap().starts_with("http/1.1 200"));
    }
    // A connection that has authenticated is kept.
    assert!(request(&mut early, &access.token).await.unwrap().starts_with("http/1.1 200"));
    drop((silent, quiet));
    server.stop().await;
}

/// It was kept for as long as the client sent a request from time to time.
#[tokio::test]
async fn an_http1_connection_ends_after_an_unauthenticated_request() {
    let home = tempfile::tempdir().unwrap();
    let (server, access) = start(&home).await;
    let mut stream = connect(&access).await.unwrap();
    let head = request(&mut stream, "none").await.unwrap();
    assert!(head.starts_with("http/1.1 401") && head.contains("connection: close"), "{head}");
    let mut rest = Vec::new();
    let ended = timeout(SOON, stream.read_to_end(&mut rest)).await.expect("the server closes");
    assert_eq!(ended.unwrap(), 0, "in order, with close_notify");
    server.stop().await;
}
