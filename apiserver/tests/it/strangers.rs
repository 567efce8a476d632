//! Unauthenticated clients, over TLS: no credential, path or trick of HTTP gives them access.

use std::time::Duration;

use bytes::Bytes;
use http::{Method, Request, Version};
use http_body_util::{BodyExt as _, Empty};
use hyper::client::conn::http2;
use hyper_util::rt::{TokioExecutor, TokioIo};
use machinery_apiserver::{Access, ApiServer, Listen};
use machinery_store::{Memory, Options};
use serde_json::Value;
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::TcpStream;
use tokio::task::JoinSet;
use tokio_rustls::client::TlsStream;
use tokio_rustls::rustls::pki_types::PrivateKeyDer;

use crate::client::Client;
use crate::tls;

struct Listener {
    server: ApiServer,
    access: Access,
    _home: tempfile::TempDir,
}

async fn place() -> Listener {
    let server = ApiServer::builder(Memory::new(Options::default())).rbac().start().await.unwrap();
    let home = tempfile::tempdir().unwrap();
    let access =
        server.listen(Listen::at("127.0.0.1:0".parse().unwrap(), home.path().join("pki"))).await.unwrap();
    Listener { server, access, _home: home }
}

impl Listener {
    async fn connect(
        &self,
        protocol: &str,
        shown: Option<tls::Shown>,
    ) -> std::io::Result<TlsStream<TcpStream>> {
        tls::connect(self.access.address, self.access.ca.as_ref().unwrap(), protocol, shown).await
    }

    /// Returns the codes of the answers to these bytes, until the server closes.
    async fn codes(&self, sent: &[u8]) -> Vec<u16> {
        let mut stream = self.connect("http/1.1", None).await.unwrap();
        stream.write_all(sent).await.unwrap();
        let mut read = Vec::new();
        let all = stream.read_to_end(&mut read);
        let _ = tokio::time::timeout(Duration::from_secs(60), all).await.expect("the server closes");
        let text = String::from_utf8_lossy(&read).into_owned();
        let lines = text.split("HTTP/1.1 ").skip(1);
        lines.map(|line| line.get(..3).and_then(|code| code.parse().ok()).unwrap_or(0)).collect()
    }

    /// The code of the answer to one request of HTTP/2, on a connection of its own, and whether the
    /// server closes that.
    async fn code(&self, request: Request<Empty<Bytes>>) -> (u16, bool) {
        let stream = self.connect("h2", None).await.unwrap();
        assert_eq!(stream.get_ref().1.alpn_protocol(), Some(&b"h2"[..]));
        let (mut sender, connection) =
            http2::handshake(TokioExecutor::new(), TokioIo::new(stream)).await.unwrap();
        let mut connections = JoinSet::new();
        connections.spawn(async move { drop(connection.await) });
        let answer = sender.send_request(request).await.unwrap();
        let (head, body) = answer.into_parts();
        body.collect().await.unwrap();
        let code = head.status.as_u16();
        // Authenticated clients may continue; the server would close only after the idle timeout.
        let wait = Duration::from_secs(if code == 401 { 60 } else { 1 });
        let closes = tokio::time::timeout(wait, connections.join_next()).await.is_ok();
        (code, closes)
    }

    /// The store's revision, which every write raises.
    async fn revision(&self) -> Value {
        let list = Client::of(&self.server).get("/api/v1/namespaces").await.fine();
        list["metadata"]["resourceVersion"].clone()
    }
}

const PATHS: [&str; 12] = [
    "/api/v1/namespaces",
    "/api/v1/namespaces/default/secrets?watch=1",
    "//api/v1/namespaces",
    "/api//v1/namespaces",
    "/%2e%2e/api/v1/namespaces",
    "/apis/../api/v1/namespaces",
    "/healthz/../api/v1/namespaces",
    "/API/v1/namespaces",
    "/api./v1/namespaces",
    "http://localhost/api/v1/namespaces",
    "https://other.example.com/api/v1/namespaces",
    "/metrics",
];

/// Headers that are no credential, each on lines of its own. `T` stands for a token that is good.
const CREDENTIALS: [&str; 21] = [
    "",
    "authorization: ",
    "authorization: Bearer",
    "authorization: Bearer ",
    "authorization: Bearer none",
    "authorization: Bearer Tx",
    "authorization: Bearer xT",
    "authorization: Bearer T T",
    "authorization: Bearer T, Bearer T",
    "authorization: Bearer \"T\"",
    "authorization: Bearer\tT",
    "authorization: T",
    "authorization: Token T",
    "authorization: Basic T",
    "authorization: Bearer none\r\nauthorization: Bearer T",
    "authorization: Bearer T\r\nauthorization: Bearer none",
    "authorization: Bearer T\r\nAuthorization: Bearer T",
    "proxy-authorization: Bearer T",
    "x-remote-user: admin\r\nx-remote-group: system:masters",
    "impersonate-user: admin\r\nimpersonate-group: system:masters",
    "cookie: token=T; authorization=Bearer T",
];

#[tokio::test]
async fn an_unauthenticated_client_gets_only_401() {
    let place = place().await;
    let before = place.revision().await;
    let mut asked = 0;
    for credential in CREDENTIALS {
        let credential = credential.replace('T', &place.access.token);
        let line = if credential.is_empty() { String::new() } else { format!("{credential}\r\n") };
        for (number, path) in PATHS.iter().enumerate() {
            let method = ["GET", "POST", "DELETE", "get"][number % 4];
            let request = format!(
                "{method} {path} HTTP/1.1\r\nhost: localhost\r\n{line}content-length: 0\r\nconnection: close\r\n\r\n"
            );
            assert_eq!(place.codes(request.as_bytes()).await, [401], "{request}");
            asked += 1;
        }
    }
    assert!(asked >= 200, "{asked}");
    assert_eq!(place.revision().await, before, "nothing was done");
    place.server.stop().await;
}

/// The same credentials and paths, as HTTP/2 has them.
#[tokio::test]
async fn an_unauthenticated_http2_client_gets_only_401() {
    let place = place().await;
    let before = place.revision().await;
    let mut asked = 0;
    for credential in CREDENTIALS {
        let credential = credential.replace('T', &place.access.token);
        for (number, path) in PATHS.iter().enumerate() {
            let method = [Method::GET, Method::POST, Method::DELETE, Method::from_bytes(b"get").unwrap()];
            let uri = if path.starts_with('/') { format!("https://localhost{path}") } else { (*path).into() };
            let mut request = Request::builder().version(Version::HTTP_2).uri(uri);
            request = request.method(method[number % 4].clone());
            for line in credential.lines() {
                let (name, value) = line.split_once(": ").unwrap();
                request = request.header(name, value);
            }
            let request = request.body(Empty::new()).unwrap();
            let told = format!("{request:?}");
            assert_eq!(place.code(request).await, (401, true), "{told}");
            asked += 1;
        }
    }
    assert!(asked >= 200, "{asked}");
    assert_eq!(place.revision().await, before, "nothing was done");
    // The token is good, and the way it is sent here is one that leads in.
    let token = format!("Bearer {}", place.access.token);
    let request = Request::get("https://localhost/api/v1/namespaces").version(Version::HTTP_2);
    let request = request.header("authorization", token).body(Empty::new()).unwrap();
    assert_eq!(place.code(request).await, (200, false));
    place.server.stop().await;
}

/// A request that two parsers could read as two different ones is refused, for every client.
#[tokio::test]
async fn ambiguous_requests_are_refused() {
    let place = place().await;
    let before = place.revision().await;
    let post = "POST /api/v1/namespaces HTTP/1.1\r\n";
    let host = "host: localhost\r\n";
    let token = format!("authorization: Bearer {}\r\nconnection: close\r\n", place.access.token);
    for (lines, rest) in [
        (format!("{post}{host}content-length: 5\r\ntransfer-encoding: chunked\r\n"), "0\r\n\r\n"),
        (format!("{post}{host}content-length: 5\r\ncontent-length: 6\r\n"), "{}   "),
        (format!("{post}{host}content-length: 5, 6\r\n"), "{}   "),
        (format!("{post}{host}content-length: -1\r\n"), ""),
        (format!("{post}{host}content-length: +2\r\n"), "{}"),
        (format!("{post}{host}content-length: 0x2\r\n"), "{}"),
        (format!("{post}{host}content-length: 99999999999999999999\r\n"), "{}"),
        (format!("{post}{host}transfer-encoding: chunked, identity\r\n"), "0\r\n\r\n"),
        (format!("{post}{host}transfer-encoding: xchunked\r\n"), "0\r\n\r\n"),
        (format!("{post}{host}transfer-encoding: gzip\r\n"), ""),
        (format!("{post}{host}transfer-encoding : chunked\r\n"), "0\r\n\r\n"),
        (format!("{post}{host}{host}"), ""),
        (format!("{post}{host}host: other\r\n"), ""),
        (post.to_owned(), ""),
        (format!("{post}{host}content length: 2\r\n"), "{}"),
        (format!("{post}{host}no colon\r\n"), ""),
        (format!("{post}{host}x: a\0b\r\n"), ""),
        (format!("{post}{host} folded: x\r\n"), ""),
        (format!("POST /api/v1/name spaces HTTP/1.1\r\n{host}"), ""),
        (format!("POST /api/v1/\u{1} HTTP/1.1\r\n{host}"), ""),
        (format!("POST api/v1/namespaces HTTP/1.1\r\n{host}"), ""),
        (format!("POST /api/v1/namespaces HTTP/3.0\r\n{host}"), ""),
        (format!("POST /api/v1/namespaces HTTX/1.1\r\n{host}"), ""),
        (format!("/api/v1/namespaces\r\n{host}"), ""),
    ] {
        let request = format!("{lines}{token}\r\n{rest}");
        let codes = place.codes(request.as_bytes()).await;
        assert_eq!(codes, [400], "{request}");
    }
    // Bytes after a request are a request of their own, without the credential of the first.
    let token = token.replace("connection: close\r\n", "");
    let second = format!("DELETE /api/v1/namespaces/default HTTP/1.1\r\n{host}connection: close\r\n\r\n");
    let pair = format!("GET /api/v1/namespaces/default HTTP/1.1\r\n{host}{token}\r\n{second}");
    assert_eq!(place.codes(pair.as_bytes()).await, [200, 401]);
    // Of two headers of length the one with priority in RFC 9112 counts, as in Kubernetes.
    let chunked = "transfer-encoding: chunked\r\ncontent-length: 40\r\n";
    let hidden = format!("{post}{host}{token}{chunked}\r\n0\r\n\r\n{second}");
    let codes = place.codes(hidden.as_bytes()).await;
    assert!(codes[0] == 400 && codes[1..].iter().all(|code| *code == 401), "{codes:?}");
    assert_eq!(place.revision().await, before, "nothing was done");
    place.server.stop().await;
}

#[tokio::test]
async fn a_certificate_of_another_authority_does_not_authenticate() {
    let place = place().await;
    let mut params = rcgen::CertificateParams::new(["admin".to_owned()]).unwrap();
    params.distinguished_name = rcgen::DistinguishedName::new();
    params.distinguished_name.push(rcgen::DnType::CommonName, "admin");
    params.distinguished_name.push(rcgen::DnType::OrganizationName, "system:masters");
    let key = rcgen::KeyPair::generate().unwrap();
    let certificate = params.self_signed(&key).unwrap();
    let der = PrivateKeyDer::try_from(key.serialize_der()).unwrap();
    let Ok(mut stream) = place.connect("http/1.1", Some((certificate.der().clone(), der))).await else {
        return;
    };
    let _ = stream.write_all(b"GET /api/v1/namespaces HTTP/1.1\r\nhost: localhost\r\n\r\n").await;
    let mut read = Vec::new();
    let _ = stream.read_to_end(&mut read).await;
    assert!(read.is_empty(), "{}", String::from_utf8_lossy(&read));
}
