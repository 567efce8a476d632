//! The client with few connections, over TLS and over plain HTTP/1.1.

use std::net::SocketAddr;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::time::Duration;

use futures::future::join_all;
use machinery_apiserver::{Access, ApiServer, KindOf, Limits, Listen};
use machinery_kube::kube_client::config::{KubeConfigOptions, Kubeconfig};
use machinery_kube::kube_client::{Client, Config};
use machinery_kube::{Connections, Remote, ServerProfile, client};
use machinery_objects::{
    ListWatch, Object, SourceError, WatchError, WatchEvent, WatchFrom, WatchRequest, WriteError, Writer,
};
use machinery_store::{Memory, Options};
use tokio::io::{AsyncReadExt, AsyncWriteExt, copy_bidirectional};
use tokio::net::{TcpListener, TcpStream};
use tokio::task::JoinSet;

use crate::plane::{Port, all, create, from, kind, labelled, next, port, within, words};

/// A server over TLS, behind a counting proxy.
struct Plane {
    _home: tempfile::TempDir,
    server: ApiServer,
    access: Access,
    way: CountingProxy,
}

impl Plane {
    async fn start(limits: Limits) -> Self {
        let home = tempfile::tempdir().unwrap();
        let server = ApiServer::builder(Memory::new(Options::default())).kind(KindOf::<Port>::new());
        let server = server.limits(limits).start().await.unwrap();
        let listen = Listen::at("127.0.0.1:0".parse().unwrap(), home.path().join("pki"));
        let access = server.listen(listen).await.unwrap();
        let way = CountingProxy::to(access.address).await;
        Self { _home: home, server, access, way }
    }

    /// The kubeconfig of the server, with the proxy's address.
    async fn config(&self) -> Config {
        let kubeconfig = Kubeconfig::read_from(&self.access.kubeconfig).unwrap();
        let mut config =
            Config::from_custom_kubeconfig(kubeconfig, &KubeConfigOptions::default()).await.unwrap();
        config.cluster_url = format!("https://{}/", self.way.address).parse().unwrap();
        config
    }

    async fn ports(&self, connections: Connections) -> Remote<Port> {
        Remote::new(client(self.config().await, connections).unwrap(), kind(), ServerProfile::machinery())
    }
}

/// Forwards bytes, counts connections, and can stop forwarding.
struct CountingProxy {
    address: SocketAddr,
    seen: Arc<AtomicUsize>,
    is_cut: Arc<AtomicBool>,
    _tasks: JoinSet<()>,
}

impl CountingProxy {
    async fn to(server: SocketAddr) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let (address, mut tasks) = (listener.local_addr().unwrap(), JoinSet::new());
        let (seen, is_cut) = (Arc::new(AtomicUsize::new(0)), Arc::new(AtomicBool::new(false)));
        let (count, cut) = (seen.clone(), is_cut.clone());
        tasks.spawn(async move {
            let mut carried = JoinSet::new();
            while let Ok((mut from, _)) = listener.accept().await {
                count.fetch_add(1, Ordering::SeqCst);
                let cut = cut.clone();
                carried.spawn(async move {
                    let mut to = TcpStream::connect(server).await.unwrap();
                    let gone = async {
                        while !cut.load(Ordering::SeqCst) {
                            tokio::time::sleep(Duration::from_millis(10)).await;
                        }
                    };
                    tokio::select! {
                        biased;
                        () = gone => std::future::pending().await, // the sockets stay open, and nothing goes through
                        _ = copy_bidirectional(&mut from, &mut to) => {}
                    }
                });
            }
        });
        Self { address, seen, is_cut, _tasks: tasks }
    }

    fn seen(&self) -> usize {
        self.seen.load(Ordering::SeqCst)
    }
}

#[tokio::test]
async fn many_watches_need_few_connections() {
    let plane = Plane::start(Limits::default()).await;
    let ports = plane.ports(Connections::default()).await;
    let version = all(&ports).await.version;
    let begin = (0..300).map(|at| {
        let request = WatchRequest {
            filter: labelled(&format!("vni={at}")),
            ..from(WatchFrom::After(version.clone()))
        };
        ports.watch(request)
    });
    let mut watches: Vec<_> = within(join_all(begin)).await.into_iter().map(Result::unwrap).collect();
    // 90 on each by default: the fourth connection is the first with free streams.
    assert_eq!(plane.way.seen(), 4);
    // Each receives its own events, and concurrent writes wait for none of them.
    for at in [0, 150, 299] {
        create(&ports, &format!("p{at}"), &at.to_string()).await;
        assert_eq!(words(&mut watches[at], 1).await, [format!("+p{at}")]);
    }
    drop(watches);
    within(join_all((0..300).map(|_| all(&ports)))).await;
    assert_eq!(plane.way.seen(), 4, "places are given back");
    plane.server.stop().await;
}

/// Also if the caller is dropped before or during the response.
#[tokio::test]
async fn cancelled_watches_release_their_streams() {
    let plane = Plane::start(Limits::default()).await;
    let ports =
        plane.ports(Connections { max_streams: 8, max_connections: 4, ..Connections::default() }).await;
    let version = all(&ports).await.version;
    for round in 0..100_u64 {
        let one = async |at: u64| {
            let response_timeout = Duration::from_micros((round * 37 + at * 91) % 3000);
            let whole = async {
                let mut events = ports.watch(from(WatchFrom::After(version.clone()))).await?;
                std::pin::pin!(futures::StreamExt::next(&mut events)).await;
                Ok::<_, WatchError>(())
            };
            if let Ok(Err(error)) = tokio::time::timeout(response_timeout, whole).await {
                panic!("{error:?}");
            }
        };
        within(join_all((0..30).map(one))).await;
    }
    assert!(plane.way.seen() <= 4, "{} connections for thirty at a time", plane.way.seen());
    // All slots are free again.
    let begin = (0..32).map(|_| ports.watch(from(WatchFrom::After(version.clone()))));
    let watches: Vec<_> = within(join_all(begin)).await;
    assert!(watches.iter().all(Result::is_ok));
    plane.server.stop().await;
}

#[tokio::test]
async fn the_stream_limit_of_a_server_is_respected() {
    let plane = Plane::start(Limits { streams: 5, ..Limits::default() }).await;
    let ports = plane.ports(Connections::default()).await;
    let version = all(&ports).await.version;
    let begin = (0..12).map(|_| ports.watch(from(WatchFrom::After(version.clone()))));
    let mut watches: Vec<_> = within(join_all(begin)).await.into_iter().map(Result::unwrap).collect();
    assert_eq!(plane.way.seen(), 3);
    create(&ports, "a", "1").await;
    for watch in &mut watches {
        assert_eq!(words(watch, 1).await, ["+a"]);
    }
    plane.server.stop().await;
}

#[tokio::test]
async fn connections_do_not_exceed_their_limit() {
    let plane = Plane::start(Limits::default()).await;
    let ports =
        plane.ports(Connections { max_streams: 1, max_connections: 2, ..Connections::default() }).await;
    let version = all(&ports).await.version;
    let begin = || ports.watch(from(WatchFrom::After(version.clone())));
    let (one, two) = (begin().await.unwrap(), begin().await.unwrap());
    match begin().await.err() {
        Some(WatchError::Source(SourceError::Unavailable { reason, .. })) => {
            assert!(reason.contains("all 2 connections are in use"), "{reason}");
        }
        other => panic!("{other:?}"),
    }
    // It was not sent, so nothing was written.
    let error = ports.create(&port("a", "1"), None).await.unwrap_err();
    assert!(matches!(error, WriteError::Source(SourceError::Unavailable { .. })), "{error:?}");
    drop(one);
    create(&ports, "a", "1").await;
    assert_eq!(plane.way.seen(), 2);
    drop(two);
    plane.server.stop().await;
}

#[tokio::test]
async fn an_unread_watch_blocks_no_other() {
    let limits = Limits { watch_stall: Duration::from_secs(60), ..Limits::default() };
    let plane = Plane::start(limits).await;
    let ports = plane.ports(Connections { max_streams: 16, ..Connections::default() }).await;
    let version = all(&ports).await.version;
    let begin = |version| ports.watch(from(WatchFrom::After(version)));
    // More than a stream's window, to each of seven unread watches.
    let unread = join_all((0..7).map(|_| begin(version.clone()))).await;
    assert!(unread.iter().all(Result::is_ok));
    let mut big = port("big", "1");
    big.metadata.annotations = Some([("a".to_owned(), "x".repeat(200_000))].into());
    for at in 0..10 {
        big.metadata.name = Some(format!("big-{at}"));
        ports.create(&big, None).await.unwrap();
    }
    let mut read = begin(version).await.unwrap();
    assert_eq!(words(&mut read, 10).await.len(), 10);
    assert_eq!(within(all(&ports)).await.items.len(), 10);
    assert_eq!(plane.way.seen(), 1, "on the same connection");
    plane.server.stop().await;
}

#[tokio::test]
async fn a_dead_connection_is_detected_and_replaced() {
    let plane = Plane::start(Limits::default()).await;
    let often = Duration::from_millis(300);
    let ports =
        plane.ports(Connections { ping_after: often, ping_timeout: often, ..Connections::default() }).await;
    let version = all(&ports).await.version;
    let mut events = ports.watch(from(WatchFrom::After(version))).await.unwrap();
    plane.way.is_cut.store(true, Ordering::SeqCst);
    // Ten times the promised time.
    let ended = tokio::time::timeout(often * 20, next(&mut events)).await.expect("it is found out");
    match ended {
        Some(Err(WatchError::Source(error))) => assert!(error.is_transient(), "{error}"),
        other => panic!("{other:?}"),
    }
    plane.way.is_cut.store(false, Ordering::SeqCst);
    assert!(all(&ports).await.items.is_empty());
    assert_eq!(plane.way.seen(), 2);
    plane.server.stop().await;
}

#[tokio::test]
async fn an_unreachable_server_received_nothing() {
    let plane = Plane::start(Limits::default()).await;
    let mut config = plane.config().await;
    let nobody = TcpListener::bind("127.0.0.1:0").await.unwrap().local_addr().unwrap();
    config.cluster_url = format!("https://{nobody}/").parse().unwrap();
    let remote = |config| {
        Remote::<Port>::new(
            client(config, Connections::default()).unwrap(),
            kind(),
            ServerProfile::kubernetes(),
        )
    };
    let is_unavailable = |error: WriteError| match error {
        WriteError::Source(error @ SourceError::Unavailable { .. }) => error.to_string(),
        other => panic!("{other:?}"),
    };
    let absent = remote(config.clone()).create(&port("a", "1"), None).await.unwrap_err();
    assert!(is_unavailable(absent).contains("refused"));
    // A server with another certificate.
    config.cluster_url = format!("https://{}/", plane.access.address).parse().unwrap();
    let mut stranger = config.clone();
    stranger.root_cert = None;
    is_unavailable(remote(stranger).create(&port("a", "1"), None).await.unwrap_err());
    // A server that accepts and stays silent.
    let nobodys = port("a", "1");
    let silent = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let mut waiting = config.clone();
    waiting.cluster_url = format!("https://{}/", silent.local_addr().unwrap()).parse().unwrap();
    waiting.connect_timeout = Some(Duration::from_millis(200));
    let waiting = remote(waiting);
    // A request that waits for a connection fails with its attempt, without one of its own: ten
    // times the promised time.
    let many = join_all((0..100).map(|_| waiting.create(&nobodys, None)));
    for late in tokio::time::timeout(Duration::from_secs(2), many).await.expect("all at once") {
        assert!(is_unavailable(late.unwrap_err()).contains("too long"));
    }
    assert!(remote(config).create(&port("a", "1"), None).await.is_ok());
    plane.server.stop().await;
}

/// A server that disappears in the middle of a write, as its client sees it.
#[tokio::test]
async fn a_write_without_a_response_has_an_unknown_outcome() {
    let plane = Plane::start(Limits::default()).await;
    let response_timeout =
        ServerProfile { response_timeout: Duration::from_secs(2), ..ServerProfile::machinery() };
    let connection = client(plane.config().await, Connections::default()).unwrap();
    let ports = Remote::<Port>::new(connection, kind(), response_timeout);
    all(&ports).await;
    plane.way.is_cut.store(true, Ordering::SeqCst);
    tokio::time::sleep(Duration::from_millis(50)).await;
    let error = ports.create(&port("a", "1"), None).await.unwrap_err();
    assert!(matches!(error, WriteError::UnknownOutcome { .. }), "{error:?}");
    plane.server.stop().await;
}

#[tokio::test]
async fn a_server_without_http2_is_served_over_http1() {
    let (address, seen, _tasks) = old_server().await;
    let config = Config::new(format!("http://{address}/").parse().unwrap());
    let ports = Remote::<Port>::new(
        client(config, Connections::default()).unwrap(),
        kind(),
        ServerProfile::kubernetes(),
    );
    for _ in 0..5 {
        assert_eq!(all(&ports).await.items[0].key().name(), "a");
    }
    assert_eq!(seen.load(Ordering::SeqCst), 1, "the connection is used again");
    within(join_all((0..5).map(|_| all(&ports)))).await;
    assert!(
        seen.load(Ordering::SeqCst) <= 5,
        "one request on a connection, and no more connections than requests"
    );
    let watches = join_all((0..3).map(|_| ports.watch(from(WatchFrom::After(all_version()))))).await;
    for watch in watches {
        let mut watch = watch.unwrap();
        assert!(matches!(next(&mut watch).await, Some(Ok(WatchEvent::Added(_)))));
    }
    assert_eq!(all(&ports).await.items.len(), 1);
}

fn all_version() -> machinery_objects::ResourceVersion {
    machinery_objects::Revision(7).into()
}

/// An HTTP/1.1 server with one port. Its watches do not end.
async fn old_server() -> (SocketAddr, Arc<AtomicUsize>, JoinSet<()>) {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let (address, seen, mut tasks) =
        (listener.local_addr().unwrap(), Arc::new(AtomicUsize::new(0)), JoinSet::new());
    let count = seen.clone();
    let item = serde_json::to_string(&{
        let mut port = port("a", "1");
        port.metadata.resource_version = Some("7".into());
        port
    })
    .unwrap();
    tasks.spawn(async move {
        let mut connections = JoinSet::new();
        while let Ok((socket, _)) = listener.accept().await {
            count.fetch_add(1, Ordering::SeqCst);
            connections.spawn(speak(socket, item.clone()));
        }
    });
    (address, seen, tasks)
}

async fn speak(mut socket: TcpStream, item: String) {
    let (mut asked, mut buffer) = (Vec::new(), [0; 4096]);
    loop {
        let Some(end) = asked.windows(4).position(|bytes: &[u8]| bytes == b"\r\n\r\n") else {
            match socket.read(&mut buffer).await {
                Ok(0) | Err(_) => return,
                Ok(read) => asked.extend_from_slice(&buffer[..read]),
            }
            continue;
        };
        let head = String::from_utf8(asked.drain(..end + 4).collect()).unwrap();
        assert!(
            head.starts_with("GET /apis/") && head.to_lowercase().contains("\r\nhost: 127.0.0.1:"),
            "{head}"
        );
        let (framing, body) = if head.contains("watch=true") {
            let line = format!("{{\"type\":\"ADDED\",\"object\":{item}}}\n");
            ("transfer-encoding: chunked".to_owned(), format!("{:x}\r\n{line}\r\n", line.len()))
        } else {
            let body = format!(r#"{{"metadata":{{"resourceVersion":"7"}},"items":[{item}]}}"#);
            (format!("content-length: {}", body.len()), body)
        };
        let answer = format!("HTTP/1.1 200 OK\r\ncontent-type: application/json\r\n{framing}\r\n\r\n{body}");
        socket.write_all(answer.as_bytes()).await.unwrap();
    }
}

#[tokio::test]
async fn a_stopping_server_is_a_transient_error() {
    let plane = Plane::start(Limits::default()).await;
    let ports = plane.ports(Connections::default()).await;
    let version = all(&ports).await.version;
    let mut events = ports.watch(from(WatchFrom::After(version))).await.unwrap();
    plane.server.stop().await;
    while let Some(event) = next(&mut events).await {
        match event {
            Ok(_) => {}
            Err(WatchError::Source(error)) => assert!(error.is_transient(), "{error}"),
            Err(error) => panic!("{error:?}"),
        }
    }
    let Err(error) = ports.watch(from(WatchFrom::After(all_version()))).await else {
        panic!("it is stopped")
    };
    assert!(matches!(&error, WatchError::Source(source) if source.is_transient()), "{error:?}");
}

#[tokio::test]
async fn an_unusable_configuration_is_refused_at_once() {
    let check = |change: fn(&mut Config), why: &str| {
        let mut config = Config::new("https://example.com:6443".parse().unwrap());
        change(&mut config);
        let error = client(config, Connections::default()).err().expect("it is refused");
        assert!(error.to_string().contains(why), "{error}");
    };
    check(|config| config.tls_server_name = Some("no name".into()), "correct tls-server-name");
    check(
        |config| config.proxy_url = Some("ftp://me:secret@proxy:21".parse().unwrap()),
        "`ftp://proxy` is no proxy",
    );
    check(|config| config.root_cert = Some(vec![vec![1, 2, 3]]), "cannot be used");
    check(|config| config.cluster_url = "/nowhere".parse().unwrap(), "is no address");
}

/// The same responses through a proxy, which alone receives its credentials.
#[tokio::test]
async fn a_proxy_is_used_with_its_credentials() {
    let plane = Plane::start(Limits::default()).await;
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let (address, mut tasks) = (listener.local_addr().unwrap(), JoinSet::new());
    tasks.spawn(async move {
        while let Ok((mut from, _)) = listener.accept().await {
            let (mut head, mut byte) = (Vec::new(), [0]);
            while !head.ends_with(b"\r\n\r\n") {
                from.read_exact(&mut byte).await.unwrap();
                head.push(byte[0]);
            }
            let head = String::from_utf8(head).unwrap();
            assert!(head.contains("Basic bWU6cEBzcw==") || head.contains("basic bWU6cEBzcw=="), "{head}");
            let target = head.split(' ').nth(1).unwrap().to_owned();
            let mut to = TcpStream::connect(target).await.unwrap();
            from.write_all(b"HTTP/1.1 200 OK\r\n\r\n").await.unwrap();
            copy_bidirectional(&mut from, &mut to).await.ok();
        }
    });
    let mut config = plane.config().await;
    config.proxy_url = Some(format!("http://me:p%40ss@{address}").parse().unwrap());
    let through: Client = client(config, Connections::default()).unwrap();
    let ports = Remote::<Port>::new(through, kind(), ServerProfile::machinery());
    create(&ports, "a", "1").await;
    assert_eq!(all(&ports).await.items.len(), 1);
    plane.server.stop().await;
}
