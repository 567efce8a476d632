//! Webhooks with a service reference and without a `caBundle`, as installed in a cluster.

use std::fs;
use std::sync::Arc;

use http::Method;
use serde_json::{Value, json};
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::TcpListener;
use tokio::task::JoinSet;
use tokio_rustls::TlsAcceptor;
use tokio_rustls::rustls::ServerConfig;
use tokio_rustls::rustls::crypto::ring;
use tokio_rustls::rustls::pki_types::{CertificateDer, PrivateKeyDer, PrivatePkcs8KeyDer};

use crate::client::Connection;
use crate::program::{ServerProcess, run};

const MAPS: &str = "/api/v1/namespaces/default/configmaps";

/// Starts a webhook that denies every request. Returns its port and its certificate.
async fn refusing() -> (u16, String, JoinSet<()>) {
    let key = rcgen::KeyPair::generate().unwrap();
    let made = rcgen::CertificateParams::new(["hook.ops.svc".to_owned()]).unwrap().self_signed(&key).unwrap();
    let (certificate, pem) = (CertificateDer::from(made.der().to_vec()), made.pem());
    let key = PrivateKeyDer::from(PrivatePkcs8KeyDer::from(key.serialize_der()));
    let tls = ServerConfig::builder_with_provider(Arc::new(ring::default_provider()))
        .with_safe_default_protocol_versions()
        .unwrap()
        .with_no_client_auth()
        .with_single_cert(vec![certificate], key)
        .unwrap();
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let port = listener.local_addr().unwrap().port();
    let mut task = JoinSet::new();
    task.spawn(async move {
        let acceptor = TlsAcceptor::from(Arc::new(tls));
        while let Ok((stream, _)) = listener.accept().await {
            let Ok(mut stream) = acceptor.accept(stream).await else { continue };
            let (mut read, mut part) = (Vec::new(), [0; 8192]);
            let review: Value = loop {
                let Ok(length @ 1..) = stream.read(&mut part).await else { break Value::Null };
                read.extend_from_slice(&part[..length]);
                let body = read.windows(4).position(|four| four == b"\r\n\r\n").map(|end| &read[end + 4..]);
                if let Some(Ok(review)) = body.map(serde_json::from_slice) {
                    break review;
                }
            };
            let response =
                json!({"uid": review["request"]["uid"], "allowed": false, "status": {"message": "not here"}});
            let review =
                json!({"apiVersion": "admission.k8s.io/v1", "kind": "AdmissionReview", "response": response})
                    .to_string();
            let answer = format!("HTTP/1.1 200 OK\r\ncontent-length: {}\r\n\r\n{review}", review.len());
            let _ = stream.write_all(answer.as_bytes()).await;
        }
    });
    (port, pem, task)
}

#[tokio::test]
async fn a_webhook_service_resolves_to_its_configured_address() {
    let home = tempfile::tempdir().unwrap();
    let (port, pem, _task) = refusing().await;
    fs::write(home.path().join("ca.pem"), pem).unwrap();
    let service = format!("ops/hook:8443=127.0.0.1:{port}");
    let memory = ["--listen", "127.0.0.1:0", "--memory"];
    let known = ["--webhook-service", &service, "--webhook-ca-file", "ca.pem"];
    let serving = ServerProcess::start(&[&memory[..], &known].concat(), home.path()).await;
    let mut client = Connection::to(&serving.access).await.unwrap();
    let rules = json!([{"operations": ["CREATE"], "apiGroups": [""], "apiVersions": ["v1"], "resources": ["configmaps"]}]);
    let at = json!({"service": {"namespace": "ops", "name": "hook", "port": 8443, "path": "/judge"}});
    let hook = json!({
        "apiVersion": "admissionregistration.k8s.io/v1", "kind": "ValidatingWebhookConfiguration", "metadata": {"name": "all"},
        "webhooks": [{
            "name": "all.example.com", "admissionReviewVersions": ["v1"], "sideEffects": "None", "clientConfig": at, "rules": rules,
        }],
    });
    let path = "/apis/admissionregistration.k8s.io/v1/validatingwebhookconfigurations";
    assert_eq!(client.request(Method::POST, path, Some(&hook)).await.unwrap().0, 201);
    let (code, refused) =
        client.request(Method::POST, MAPS, Some(&json!({"metadata": {"name": "a"}}))).await.unwrap();
    let message = "admission webhook \"all.example.com\" denied the request: not here";
    assert_eq!((code, &refused["message"]), (400, &json!(message)));
    serving.kill().await;
}

#[tokio::test]
async fn an_invalid_webhook_service_is_refused_with_the_expected_form() {
    let home = tempfile::tempdir().unwrap();
    for (arguments, says) in [
        (["--webhook-service", "hook=127.0.0.1:1"], "NAMESPACE/NAME:PORT=ADDRESS:PORT"),
        (["--webhook-service", "ops/hook=localhost:1"], "names are not looked up"),
        (["--webhook-ca-file", "none.pem"], "cannot read the authorities in none.pem"),
    ] {
        let ended =
            run(&[&["serve", "--memory", "--listen", "127.0.0.1:0"][..], &arguments].concat(), home.path())
                .await;
        let stderr = String::from_utf8_lossy(&ended.stderr).into_owned();
        assert!(!ended.status.success() && stderr.contains(says), "{stderr}");
    }
}
