//! A typical webhook: a server of its own, over TLS.

use std::net::SocketAddr;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use machinery_sync::Mutex;
use serde_json::{Value, json};
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::{TcpListener, TcpStream};
use tokio::task::JoinSet;
use tokio_rustls::TlsAcceptor;
use tokio_rustls::rustls::ServerConfig;
use tokio_rustls::rustls::crypto::ring;
use tokio_rustls::rustls::pki_types::{CertificateDer, PrivateKeyDer, PrivatePkcs8KeyDer};

use crate::client::Client;

/// The reply to a review.
pub(crate) enum Reply {
    /// This in `response`, with the right UID.
    Response(Value),
    /// These bytes, with this status.
    Bytes(u16, Vec<u8>),
    /// Nothing, for ever.
    Nothing,
    /// The end of the connection.
    End,
}

/// It runs until it is dropped.
pub(crate) struct Hook {
    pub(crate) address: SocketAddr,
    /// In PEM.
    pub(crate) ca: String,
    seen: Arc<Mutex<Vec<(String, Value)>>>,
    connections: Arc<AtomicUsize>,
    _tasks: JoinSet<()>,
}

impl Hook {
    pub(crate) async fn new(reply: impl Fn(&str, &Value) -> Reply + Send + Sync + 'static) -> Self {
        let names = ["localhost", "hook.default.svc"].map(str::to_owned);
        Self::showing(rcgen::CertificateParams::new(names).unwrap(), reply).await
    }

    /// Starts a webhook with a self-signed certificate like this.
    pub(crate) async fn showing(
        certificate: rcgen::CertificateParams,
        reply: impl Fn(&str, &Value) -> Reply + Send + Sync + 'static,
    ) -> Self {
        let key = rcgen::KeyPair::generate().unwrap();
        let made = certificate.self_signed(&key).unwrap();
        let (certificate, ca) = (CertificateDer::from(made.der().to_vec()), made.pem());
        let key = PrivateKeyDer::from(PrivatePkcs8KeyDer::from(key.serialize_der()));
        let tls = ServerConfig::builder_with_provider(Arc::new(ring::default_provider()))
            .with_safe_default_protocol_versions()
            .unwrap()
            .with_no_client_auth()
            .with_single_cert(vec![certificate], key)
            .unwrap();
        let acceptor = TlsAcceptor::from(Arc::new(tls));
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let address = listener.local_addr().unwrap();
        let (seen, connections) = (Arc::new(Mutex::default()), Arc::new(AtomicUsize::new(0)));
        let (noted, counted, reply) = (seen.clone(), connections.clone(), Arc::new(reply));
        let mut tasks = JoinSet::new();
        tasks.spawn(async move {
            let mut all = JoinSet::new();
            while let Ok((stream, _)) = listener.accept().await {
                counted.fetch_add(1, Ordering::SeqCst);
                let (acceptor, noted, reply) = (acceptor.clone(), Arc::clone(&noted), reply.clone());
                all.spawn(async move {
                    serve(acceptor, stream, &noted, &*reply).await;
                });
            }
        });
        Self { address, ca, seen, connections, _tasks: tasks }
    }

    /// Starts a webhook that allows every request.
    pub(crate) async fn allowing() -> Self {
        Self::new(|_, _| Reply::Response(json!({"allowed": true}))).await
    }

    /// Starts a webhook that answers with this patch.
    pub(crate) async fn patching(patch: Value) -> Self {
        Self::new(move |_, _| patched(&patch)).await
    }

    /// How it is reached, at a path.
    pub(crate) fn at(&self, path: &str) -> Value {
        json!({"url": format!("https://localhost:{}{path}", self.address.port()), "caBundle": self.bundle()})
    }

    pub(crate) fn bundle(&self) -> String {
        STANDARD.encode(&self.ca)
    }

    /// Returns the requests that it has received, and their outcomes.
    pub(crate) fn seen(&self) -> Vec<Value> {
        self.seen.lock().iter().map(|(_, review)| review["request"].clone()).collect()
    }

    /// The reviews, and the paths that they were sent to.
    pub(crate) fn reviews(&self) -> Vec<(String, Value)> {
        self.seen.lock().clone()
    }

    pub(crate) fn paths(&self) -> Vec<String> {
        self.seen.lock().iter().map(|(path, _)| path.clone()).collect()
    }

    pub(crate) fn connections(&self) -> usize {
        self.connections.load(Ordering::SeqCst)
    }
}

/// Allowed, with a patch.
pub(crate) fn patched(patch: &Value) -> Reply {
    let bytes = STANDARD.encode(patch.to_string());
    Reply::Response(json!({"allowed": true, "patchType": "JSONPatch", "patch": bytes}))
}

async fn serve(
    acceptor: TlsAcceptor,
    stream: TcpStream,
    seen: &Mutex<Vec<(String, Value)>>,
    reply: &(impl Fn(&str, &Value) -> Reply + Sync),
) {
    let Ok(mut stream) = acceptor.accept(stream).await else { return };
    let mut bytes = Vec::new();
    loop {
        let Some((path, body)) = request(&mut stream, &mut bytes).await else { return };
        let review: Value = serde_json::from_slice(&body).unwrap_or_default();
        seen.lock().push((path.clone(), review.clone()));
        let (code, body) = match reply(&path, &review) {
            Reply::Nothing => return std::future::pending().await,
            Reply::End => return,
            Reply::Bytes(code, bytes) => (code, bytes),
            Reply::Response(mut response) => {
                response["uid"] = review["request"]["uid"].clone();
                let review = json!({"apiVersion": "admission.k8s.io/v1", "kind": "AdmissionReview", "response": response});
                (200, review.to_string().into_bytes())
            }
        };
        let head =
            format!("HTTP/1.1 {code} X\r\nlocation: /elsewhere\r\ncontent-length: {}\r\n\r\n", body.len());
        if stream.write_all(&[head.into_bytes(), body].concat()).await.is_err() {
            return;
        }
    }
}

/// The path and the body of the next request.
async fn request(
    stream: &mut (impl tokio::io::AsyncRead + Unpin),
    bytes: &mut Vec<u8>,
) -> Option<(String, Vec<u8>)> {
    loop {
        if let Some(end) = bytes.windows(4).position(|four| four == b"\r\n\r\n") {
            let head = String::from_utf8_lossy(&bytes[..end]).to_lowercase();
            let length = head
                .lines()
                .find_map(|line| line.strip_prefix("content-length: ")?.parse().ok())
                .unwrap_or(0);
            if bytes.len() >= end + 4 + length {
                assert!(
                    head.starts_with("post ") && head.contains("content-type: application/json"),
                    "{head}"
                );
                let path = head.split(' ').nth(1)?.to_owned();
                let body = bytes[end + 4..end + 4 + length].to_vec();
                bytes.drain(..end + 4 + length);
                return Some((path, body));
            }
        }
        let mut part = [0; 8192];
        match stream.read(&mut part).await {
            Ok(read) if read > 0 => bytes.extend_from_slice(&part[..read]),
            _ => return None,
        }
    }
}

/// A webhook in a configuration: about widgets, and harmless.
pub(crate) fn webhook(name: &str, client: &Value, more: &Value) -> Value {
    let mut webhook = json!({
        "name": format!("{name}.example.com"), "admissionReviewVersions": ["v1"], "sideEffects": "None",
        "clientConfig": client, "timeoutSeconds": 30,
        "rules": [{
            "operations": ["*"], "apiGroups": ["example.com"], "apiVersions": ["*"], "resources": ["widgets", "widgets/*"],
        }],
    });
    webhook.as_object_mut().unwrap().extend(more.as_object().unwrap().clone());
    webhook
}

pub(crate) const GROUP: &str = "/apis/admissionregistration.k8s.io/v1";

/// A configuration of mutating webhooks.
pub(crate) fn mutating(name: &str, webhooks: &[Value]) -> Value {
    configuration("MutatingWebhookConfiguration", name, webhooks)
}

/// A configuration of validating ones.
pub(crate) fn validating(name: &str, webhooks: &[Value]) -> Value {
    configuration("ValidatingWebhookConfiguration", name, webhooks)
}

fn configuration(kind: &str, name: &str, webhooks: &[Value]) -> Value {
    json!({
        "apiVersion": "admissionregistration.k8s.io/v1", "kind": kind, "metadata": {"name": name}, "webhooks": webhooks,
    })
}

/// Writes a configuration.
#[track_caller]
pub(crate) fn configure<'a>(client: &'a Client, configuration: &Value) -> impl Future<Output = Value> + 'a {
    let plural = configuration["kind"].as_str().unwrap().to_lowercase();
    let configuration = configuration.clone();
    async move { client.post(&format!("{GROUP}/{plural}s"), &configuration).await.fine() }
}
