//! A webhook server with certificates of its own, and its client.

use std::net::SocketAddr;
use std::path::PathBuf;

use bytes::Bytes;
use http::Request;
use http_body_util::{BodyExt as _, Full};
use hyper::client::conn::{http1, http2};
use hyper_util::rt::{TokioExecutor, TokioIo};
use machinery_apiserver::{AdmissionHooks, WebhookLimits, WebhookMetrics, WebhookServer, WebhookTls};
use rcgen::{BasicConstraints, CertificateParams, DnType, IsCa, Issuer, KeyPair};
use serde_json::{Value, json};
use tempfile::TempDir;
use tokio::task::JoinSet;
use tokio_rustls::rustls::pki_types::pem::PemObject as _;
use tokio_rustls::rustls::pki_types::{CertificateDer, PrivateKeyDer};
use tokio_util::sync::CancellationToken;

use crate::tls::{Shown, connect};

/// An authority, and the certificates that it issues for `localhost`.
pub(super) struct WebhookAuthority {
    issuer: Issuer<'static, KeyPair>,
    pub(super) pem: String,
}

impl WebhookAuthority {
    pub(super) fn new(name: &str) -> Self {
        let mut params = CertificateParams::new(Vec::new()).unwrap();
        params.is_ca = IsCa::Ca(BasicConstraints::Unconstrained);
        params.distinguished_name.push(DnType::CommonName, name);
        let key = KeyPair::generate().unwrap();
        let pem = params.self_signed(&key).unwrap().pem();
        Self { issuer: Issuer::new(params, key), pem }
    }

    /// Issues a certificate; returns it and its key, in PEM.
    pub(super) fn issue(&self) -> (String, String) {
        let key = KeyPair::generate().unwrap();
        let params = CertificateParams::new(["localhost".to_owned()]).unwrap();
        (params.signed_by(&key, &self.issuer).unwrap().pem(), key.serialize_pem())
    }

    /// Issues a certificate for a client.
    pub(super) fn client(&self) -> Shown {
        let (certificate, key) = self.issue();
        let key = PrivateKeyDer::from_pem_slice(key.as_bytes()).unwrap();
        (CertificateDer::from_pem_slice(certificate.as_bytes()).unwrap(), key)
    }
}

/// The files of a webhook server.
pub(super) struct Files {
    home: TempDir,
}

impl Files {
    pub(super) fn new(authority: &WebhookAuthority) -> Self {
        let files = Self { home: tempfile::tempdir().unwrap() };
        files.put(authority);
        files
    }

    pub(super) fn path(&self, name: &str) -> PathBuf {
        self.home.path().join(name)
    }

    /// Writes a certificate of this authority.
    pub(super) fn put(&self, authority: &WebhookAuthority) {
        let (certificate, key) = authority.issue();
        self.write("tls.key", &key);
        self.write("tls.crt", &certificate);
    }

    /// Replaces a file atomically, as a mounted Secret does.
    pub(super) fn write(&self, name: &str, text: &str) {
        let new = self.path("new");
        std::fs::write(&new, text).unwrap();
        std::fs::rename(new, self.path(name)).unwrap();
    }

    pub(super) fn tls(&self) -> WebhookTls {
        WebhookTls::files(self.path("tls.crt"), self.path("tls.key"))
    }
}

/// A running webhook server.
pub(super) struct RunningWebhook {
    pub(super) address: SocketAddr,
    pub(super) metrics: WebhookMetrics,
    pub(super) stopping: CancellationToken,
    task: JoinSet<()>,
}

pub(super) async fn run(hooks: AdmissionHooks, tls: WebhookTls, limits: WebhookLimits) -> RunningWebhook {
    let server =
        WebhookServer::bind(hooks, "127.0.0.1:0".parse().unwrap(), tls).await.unwrap().limits(limits);
    let (address, metrics, stopping) = (server.address(), server.metrics(), CancellationToken::new());
    let mut task = JoinSet::new();
    task.spawn(server.run(stopping.clone().cancelled_owned()));
    RunningWebhook { address, metrics, stopping, task }
}

impl RunningWebhook {
    pub(super) async fn stop(mut self) {
        self.stopping.cancel();
        self.task.join_next().await.unwrap().unwrap();
    }

    /// Sends one request over a connection of its own.
    pub(super) async fn send(
        &self,
        (ca, shown): (&str, Option<Shown>),
        protocol: &str,
        request: Request<Full<Bytes>>,
    ) -> Result<(u16, Vec<u8>), Box<dyn std::error::Error + Send + Sync>> {
        let stream = TokioIo::new(connect(self.address, ca, protocol, shown).await?);
        let mut connection = JoinSet::new();
        let answer = if protocol == "h2" {
            let (mut sender, work) = http2::handshake(TokioExecutor::new(), stream).await?;
            connection.spawn(async move { drop(work.await) });
            sender.send_request(request).await?
        } else {
            let (mut sender, work) = http1::handshake(stream).await?;
            connection.spawn(async move { drop(work.await) });
            sender.send_request(request).await?
        };
        let code = answer.status().as_u16();
        Ok((code, answer.into_body().collect().await?.to_bytes().to_vec()))
    }

    /// Posts a body; returns the status and the text of the answer.
    pub(super) async fn post(&self, ca: &str, path: &str, body: impl Into<Bytes>) -> (u16, String) {
        let request = Request::post(path).header("host", "localhost").body(Full::from(body.into())).unwrap();
        let (code, bytes) = self.send((ca, None), "http/1.1", request).await.unwrap();
        (code, String::from_utf8(bytes).unwrap())
    }

    /// Posts a review; returns its response.
    pub(super) async fn review(&self, ca: &str, path: &str, review: &Value) -> Value {
        let (code, text) = self.post(ca, path, review.to_string()).await;
        assert_eq!(code, 200, "{text}");
        serde_json::from_str::<Value>(&text).unwrap()["response"].clone()
    }

    pub(super) async fn get(&self, ca: &str, path: &str) -> (u16, String) {
        let request = Request::get(path).header("host", "localhost").body(Full::default()).unwrap();
        let (code, bytes) = self.send((ca, None), "http/1.1", request).await.unwrap();
        (code, String::from_utf8(bytes).unwrap())
    }
}

/// A review of the creation of a widget.
pub(super) fn review(name: &str, spec: &Value) -> Value {
    json!({
        "apiVersion": "admission.k8s.io/v1", "kind": "AdmissionReview",
        "request": {
            "uid": "u", "operation": "CREATE", "namespace": "default", "name": name, "oldObject": null,
            "kind": {"group": "example.com", "version": "v1", "kind": "Widget"},
            "resource": {"group": "example.com", "version": "v1", "resource": "widgets"},
            "userInfo": {"username": "ann"}, "dryRun": false,
            "object": {
                "apiVersion": "example.com/v1", "kind": "Widget", "spec": spec,
                "metadata": {"name": name, "namespace": "default"},
            },
        },
    })
}
