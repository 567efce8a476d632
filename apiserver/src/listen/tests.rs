//! Slow, silent or many clients. The clock is virtual, except with sockets.

mod read_budget;
mod watches;

use std::net::SocketAddr;
use std::sync::Arc;
use std::time::Duration;

use bytes::Bytes;
use http::{Request, Version};
use http_body_util::{BodyExt, Empty, Full};
use hyper::client::conn::http2;
use hyper_util::rt::{TokioExecutor, TokioIo};
use machinery_store::{Memory, Options};
use rustls::pki_types::pem::PemObject as _;
use rustls::pki_types::{CertificateDer, ServerName};
use rustls::{ClientConfig, RootCertStore};
use tokio::io::{AsyncReadExt, AsyncWriteExt, DuplexStream, duplex};
use tokio::net::TcpStream;
use tokio::task::JoinSet;
use tokio::time::{Instant, sleep, timeout};
use tokio_rustls::TlsConnector;
use tokio_rustls::client::TlsStream;
use tokio_util::task::TaskTracker;
use tower_service::Service as _;

use super::client::ConnectionClient;
use super::connection::{HttpConnection, requests};
use super::pace::{Pace, Paced};
use super::send_progress::StreamExecutor;
use crate::auth::Identity;
use crate::auth::token_file::TokenFile;
use crate::http::Service;
use crate::metrics::Event;
use crate::server::{ApiServer, Limits};
use crate::tls::own::GeneratedCertificates;
use crate::tls::serving::{Serving, Source};
use crate::{Access, Listen};

const GET: &str = "GET /api/v1/namespaces/default HTTP/1.1\r\nhost: a\r\n\r\n";

async fn server() -> ApiServer {
    server_of(Limits::default()).await
}

/// A server with a large object.
async fn server_of(limits: Limits) -> ApiServer {
    let server = ApiServer::builder(Memory::new(Options::default())).limits(limits);
    let server = server.start().await.expect("a server");
    add_big(&server, "big").await;
    server
}

async fn add_big(server: &ApiServer, name: &str) {
    let text = format!(r#"{{"metadata":{{"name":"{name}"}},"data":{{"a":"{}"}}}}"#, "x".repeat(700 << 10));
    let request = Request::post("/api/v1/namespaces/default/configmaps").body(Full::<Bytes>::from(text));
    let made = server.service(Identity::admin()).call(request.expect("a request")).await.expect("an answer");
    assert_eq!(made.status(), 201);
}

/// Connects an administrator, or an unauthenticated client.
fn connect(server: &ApiServer, tasks: &TaskTracker, known: bool) -> DuplexStream {
    let (client, stream) = duplex(4 << 10);
    let shared = server.shared().clone();
    let service = Service::new(shared.clone(), known.then(|| Arc::new(Identity::admin())));
    let pace = Pace::new(ConnectionClient::default());
    let stream = Paced::new(stream, pace.clone());
    let http = HttpConnection { pace, service, protocol: None, origins: None };
    tasks.spawn(requests(StreamExecutor { shared, tasks: tasks.clone() }, stream, http));
    client
}

/// Returns the time until the server closes the connection, reading all data that it sends.
async fn closed(client: &mut DuplexStream) -> Duration {
    let began = Instant::now();
    let mut rest = Vec::new();
    let _ = client.read_to_end(&mut rest).await;
    began.elapsed()
}

/// Reads up to the end of a response head, perhaps with the beginning of the body.
async fn head(client: &mut DuplexStream) -> String {
    let mut head = Vec::new();
    while !head.ends_with(b"\r\n\r\n") {
        let Ok(byte) = client.read_u8().await else { break };
        head.push(byte);
    }
    String::from_utf8_lossy(&head).into_owned()
}

#[track_caller]
fn about(found: Duration, expected: Duration) {
    assert!(found >= expected && found < expected + Duration::from_secs(6), "{found:?}, not {expected:?}");
}

#[tokio::test(start_paused = true)]
async fn connections_with_a_missing_or_slow_head_are_closed() {
    let server = server().await;
    let (limits, tasks) = (Limits::default(), TaskTracker::new());
    let late = || server.shared().metrics.counted.of(Event::LateHead);
    about(closed(&mut connect(&server, &tasks, true)).await, limits.head);
    assert_eq!(late(), 1);

    // A head at one byte per second is late as well, whether it is the first one or a later one.
    for before in ["", GET] {
        let mut client = connect(&server, &tasks, true);
        client.write_all(before.as_bytes()).await.expect("taken");
        let began = Instant::now();
        for byte in b"GET /api/v1/namespaces HTTP/1.1\r\nhost: a" {
            if client.write_all(&[*byte]).await.is_err() {
                break;
            }
            sleep(Duration::from_secs(1)).await;
        }
        about(began.elapsed(), limits.head);
    }
    assert_eq!(late(), 3);
}

#[tokio::test(start_paused = true)]
async fn idle_connections_are_closed() {
    let server = server().await;
    let (limits, tasks) = (Limits::default(), TaskTracker::new());
    let mut client = connect(&server, &tasks, true);
    client.write_all(GET.as_bytes()).await.expect("taken");
    assert!(head(&mut client).await.starts_with("HTTP/1.1 200"));
    about(closed(&mut client).await, limits.idle);
    assert_eq!(server.shared().metrics.counted.of(Event::Idle), 1);
}

#[tokio::test(start_paused = true)]
async fn bodies_have_a_deadline() {
    let server = server().await;
    let tasks = TaskTracker::new();
    let mut client = connect(&server, &tasks, true);
    let post = "POST /api/v1/namespaces HTTP/1.1\r\nhost: a\r\ncontent-length: 100\r\n\r\n{";
    client.write_all(post.as_bytes()).await.expect("taken");
    let began = Instant::now();
    assert!(head(&mut client).await.starts_with("HTTP/1.1 408"));
    about(began.elapsed(), Limits::default().body);
    about(closed(&mut client).await, Duration::ZERO);
    assert_eq!(server.shared().metrics.counted.of(Event::LateBody), 1);
}

#[tokio::test(start_paused = true)]
async fn stalled_readers_are_disconnected() {
    let server = server().await;
    let tasks = TaskTracker::new();
    let mut client = connect(&server, &tasks, true);
    let get = GET.replace("default ", "default/configmaps/big ");
    client.write_all(get.as_bytes()).await.expect("taken");
    assert!(head(&mut client).await.starts_with("HTTP/1.1 200"));
    sleep(Limits::default().stall + Duration::from_secs(2)).await;
    let mut rest = Vec::new();
    let _ = client.read_to_end(&mut rest).await;
    assert!(rest.len() < 100 << 10, "{} bytes", rest.len());
    assert_eq!(server.shared().metrics.counted.of(Event::SlowReader), 1);
}

#[tokio::test]
async fn request_heads_have_a_size_limit() {
    let server = server().await;
    let tasks = TaskTracker::new();
    let long = format!("{}x: {}\r\n\r\n", &GET[..GET.len() - 2], "y".repeat(70 << 10));
    let many = format!("{}{}\r\n", &GET[..GET.len() - 2], "a: b\r\n".repeat(200));
    let path = GET.replace("default", &"n".repeat(70 << 10));
    for (request, expected) in [(long, "431"), (many, "431"), (path, "4")] {
        let mut client = connect(&server, &tasks, true);
        let (mut read, mut write) = tokio::io::split(&mut client);
        let sent = async { write.write_all(request.as_bytes()).await.ok() };
        let mut answer = [0; 12];
        let (_, read) = tokio::join!(sent, read.read_exact(&mut answer));
        read.expect("an answer");
        let code = String::from_utf8_lossy(&answer[9..]).into_owned();
        assert!(code.starts_with(expected), "{code}, not {expected}");
    }
}

type Sender = http2::SendRequest<Empty<Bytes>>;

/// Connects an HTTP/2 client; its tasks end with the connection.
async fn http2(stream: DuplexStream, tasks: &mut JoinSet<()>) -> Sender {
    let io = TokioIo::new(stream);
    let mut builder = http2::Builder::new(TokioExecutor::new());
    builder.initial_stream_window_size(64 << 10);
    let (sender, connection) = builder.handshake(io).await.expect("a handshake");
    tasks.spawn(async move { drop(connection.await) });
    sender
}

fn get(path: &str) -> Request<Empty<Bytes>> {
    let request = Request::get(format!("http://a{path}")).version(Version::HTTP_2);
    request.body(Empty::new()).expect("a request")
}

#[tokio::test(start_paused = true)]
async fn a_stalled_stream_does_not_delay_others() {
    let server = server().await;
    let (tasks, mut clients) = (TaskTracker::new(), JoinSet::new());
    let mut sender = http2(connect(&server, &tasks, true), &mut clients).await;
    let slow =
        sender.send_request(get("/api/v1/namespaces/default/configmaps/big")).await.expect("an answer");
    assert_eq!(slow.status(), 200);
    sleep(Limits::default().stall + Duration::from_secs(2)).await;
    assert_eq!(server.shared().metrics.counted.of(Event::SlowReader), 1);
    slow.into_body().collect().await.expect_err("it was cut off");
    let other = sender.send_request(get("/api/v1/namespaces/default")).await.expect("an answer");
    assert_eq!(other.status(), 200);
    other.into_body().collect().await.expect("all of it");
}

#[tokio::test(start_paused = true)]
async fn unauthenticated_http2_connections_are_closed() {
    let server = server().await;
    let (tasks, mut clients) = (TaskTracker::new(), JoinSet::new());
    let mut sender = http2(connect(&server, &tasks, false), &mut clients).await;
    let refused = sender.send_request(get("/api/v1/namespaces")).await.expect("an answer");
    assert_eq!(refused.status(), 401);
    drop(refused);
    timeout(Duration::from_secs(10), clients.join_next()).await.expect("it was asked to go");
    assert_eq!(server.shared().metrics.counted.of(Event::UnknownClient), 1);
}

/// Cancelled requests release their resources.
#[tokio::test]
async fn cancelled_requests_leave_nothing_behind() {
    let server = server().await;
    let (tasks, mut clients) = (TaskTracker::new(), JoinSet::new());
    let mut sender = http2(connect(&server, &tasks, true), &mut clients).await;
    for _ in 0..1_000 {
        if sender.ready().await.is_err() {
            break;
        }
        let asked = sender.send_request(get("/api/v1/namespaces/default/configmaps/big"));
        tokio::task::yield_now().await;
        drop(asked);
    }
    let mut other = http2(connect(&server, &tasks, true), &mut clients).await;
    let answer = other.send_request(get("/api/v1/namespaces/default")).await.expect("an answer");
    assert_eq!(answer.status(), 200);
    drop((answer, other, sender));
    tasks.close();
    timeout(Duration::from_secs(60), tasks.wait()).await.expect("nothing runs any more");
    assert_eq!(counted(&server, "apiserver_current_inflight_requests{request_kind=\"readOnly\"}"), 0);
}

/// The preface of an HTTP/2 client, and requests that are cancelled immediately.
fn taken_back(requests: u32) -> Vec<u8> {
    let mut sent = b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n".to_vec();
    let mut frame = |kind: u8, flags: u8, stream: u32, payload: &[u8]| {
        let length = u32::try_from(payload.len()).expect("a short frame");
        sent.extend(&length.to_be_bytes()[1..]);
        sent.extend([kind, flags]);
        sent.extend(stream.to_be_bytes());
        sent.extend(payload);
    };
    frame(SETTINGS, 0, 0, &[]);
    for number in 0..requests {
        // A complete `GET /` of stream `a`, followed by CANCEL.
        frame(HEADERS, 5, 2 * number + 1, &[0x82, 0x86, 0x84, 0x41, 1, b'a']);
        frame(RST_STREAM, 0, 2 * number + 1, &8_u32.to_be_bytes());
    }
    sent
}

const HEADERS: u8 = 1;
const RST_STREAM: u8 = 3;
const SETTINGS: u8 = 4;
const GOAWAY: u8 = 7;
const ENHANCE_YOUR_CALM: u32 = 11;

/// The error codes of all GOAWAY frames.
fn goodbyes(mut frames: &[u8]) -> Vec<u32> {
    let mut errors = Vec::new();
    while let Some((head, rest)) = frames.split_at_checked(9) {
        let length = u32::from_be_bytes([0, head[0], head[1], head[2]]) as usize;
        let Some((payload, rest)) = rest.split_at_checked(length) else { break };
        if let (GOAWAY, [_, _, _, _, error @ ..]) = (head[3], payload) {
            errors.push(u32::from_be_bytes(error[..4].try_into().expect("an error")));
        }
        frames = rest;
    }
    errors
}

/// CVE-2023-44487, rapid reset: the client never exceeds its stream limit, but causes work all the
/// time.
#[tokio::test]
async fn rapid_resets_close_the_connection() {
    let server = server().await;
    let tasks = TaskTracker::new();
    let (mut read, mut write) = tokio::io::split(connect(&server, &tasks, true));
    let mut answered = Vec::new();
    let both = async {
        let sent = taken_back(10_000);
        tokio::join!(write.write_all(&sent), read.read_to_end(&mut answered))
    };
    let (sent, _) = timeout(Duration::from_secs(10), both).await.expect("the server closes");
    sent.expect_err("it was closed before all was sent");
    assert_eq!(goodbyes(&answered), [ENHANCE_YOUR_CALM]);
    tasks.close();
    timeout(Duration::from_secs(10), tasks.wait()).await.expect("nothing runs any more");
}

/// Returns the value of a counter.
fn counted(server: &ApiServer, name: &str) -> u64 {
    let page = server.shared().metrics.page(None, 0);
    let line = page.lines().find_map(|line| line.strip_prefix(name));
    line.expect("it is counted").trim().parse().expect("a number")
}

/// A TLS client with its token.
struct Secure {
    connector: TlsConnector,
    address: SocketAddr,
    credential: String,
}

impl Secure {
    fn to(access: &Access) -> Self {
        let mut roots = RootCertStore::empty();
        let ca = access.ca.as_ref().expect("an authority");
        roots
            .add(CertificateDer::from_pem_slice(ca.as_bytes()).expect("a certificate"))
            .expect("an authority");
        let provider = Arc::new(rustls::crypto::ring::default_provider());
        let config = ClientConfig::builder_with_provider(provider).with_safe_default_protocol_versions();
        let config = config.expect("versions").with_root_certificates(roots).with_no_client_auth();
        let credential = format!("authorization: Bearer {}\r\n\r\n", access.token);
        Self { connector: Arc::new(config).into(), address: access.address, credential }
    }

    async fn plain(&self) -> TcpStream {
        TcpStream::connect(self.address).await.expect("a connection")
    }

    /// Opens a TLS connection and sends `text`.
    async fn say(&self, text: &str) -> TlsStream<TcpStream> {
        let name = ServerName::try_from("localhost").expect("a name");
        let mut stream = self.connector.connect(name, self.plain().await).await.expect("TLS");
        stream.write_all(text.as_bytes()).await.expect("taken");
        stream.flush().await.expect("sent");
        stream
    }

    /// The 99th percentile of the duration of a request, including its connection.
    async fn p99(&self) -> Duration {
        let request = GET.replace("\r\n\r\n", &format!("\r\n{}", self.credential));
        let mut took = Vec::new();
        for _ in 0..100 {
            let (began, mut answer) = (Instant::now(), [0; 12]);
            let answered = async { self.say(&request).await.read_exact(&mut answer).await };
            timeout(Duration::from_secs(10), answered).await.expect("in time").expect("an answer");
            took.push(began.elapsed());
            assert_eq!(&answer[..], b"HTTP/1.1 200");
        }
        took.sort();
        took[98]
    }
}

/// Regression test: `Debug` of `Access` printed the administrator's token.
#[tokio::test]
async fn neither_tokens_nor_keys_are_printed() {
    let server = server().await;
    let home = tempfile::tempdir().expect("a directory");
    let pki = home.path().join("pki");
    let others = vec![(Identity::new("ann"), home.path().join("ann"))];
    let listen = Listen { others, ..Listen::at("127.0.0.1:0".parse().expect("an address"), pki.clone()) };
    let access = server.listen(listen).await.expect("it listens");
    let text = |name: &str| std::fs::read_to_string(pki.join(name)).expect("it is there");
    let (tokens, key, ca) = (text("tokens.csv"), text("server.key"), text("ca.key"));
    let lines = |text: &str| text.lines().map(str::to_owned).collect::<Vec<_>>();
    let secrets = tokens.lines().filter_map(|line| line.split(',').next()).map(str::to_owned);
    let secrets: Vec<_> =
        secrets.chain(lines(&key)).chain(lines(&ca)).filter(|one| !one.starts_with("--")).collect();
    assert!(secrets.len() > 4 && secrets.contains(&access.token));
    let own = GeneratedCertificates::new(&pki, []);
    let (serving, _) = Serving::open(Source::Own(own.clone()), jiff::Timestamp::now()).expect("it is there");
    let authenticator = server.shared().authenticator.load();
    let tokens = TokenFile::open(&pki.join("tokens.csv")).expect("it is there");
    for shown in
        [format!("{access:?}"), format!("{serving:?}"), format!("{authenticator:?}"), format!("{tokens:?}")]
    {
        for secret in &secrets {
            assert!(!shown.contains(secret), "{shown}");
        }
    }
    server.stop().await;
}

/// A thousand sockets send part of a request and stall; the latency of other clients is unaffected.
/// The promise is a factor of two; ten is asserted, since the test machine may be busy.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_thousand_slow_clients_do_not_delay_others() {
    const FLOOR: Duration = Duration::from_millis(500);
    // The timeouts exceed the duration of the test.
    let long = Duration::from_secs(600);
    let limits = Limits { head: long, idle: long, body: long, ..Limits::default() };
    let server = ApiServer::builder(Memory::new(Options::default())).limits(limits);
    let server = server.start().await.expect("a server");
    let home = tempfile::tempdir().expect("a directory");
    let listen = Listen::at("127.0.0.1:0".parse().expect("an address"), home.path().join("pki"));
    let client = Secure::to(&server.listen(listen).await.expect("it listens"));
    let before = client.p99().await;

    let post = "POST /api/v1/namespaces HTTP/1.1\r\nhost: a\r\ncontent-length: 9\r\n";
    let body = format!("{post}{}{{", client.credential);
    let (mut silent, mut slow) = (Vec::new(), Vec::new());
    for number in 0..1_000 {
        match number % 3 {
            // No handshake, half a head, a missing body.
            0 => silent.push(client.plain().await),
            1 => slow.push(client.say(post).await),
            _ => slow.push(client.say(&body).await),
        }
    }
    let with = client.p99().await;
    assert!(counted(&server, "machinery_connections") >= 1_000, "they are all there");
    assert!(with <= FLOOR.max(20 * before), "{with:?}, and {before:?} without them");
    drop((silent, slow));
    server.stop().await;
}
