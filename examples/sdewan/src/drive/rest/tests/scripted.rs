//! A server with scripted answers, over TLS.

use std::collections::VecDeque;
use std::sync::Arc;
use std::time::Duration;

use machinery::sync::Mutex;
use machinery::tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use machinery::tokio::net::TcpListener;
use machinery::tokio::time::sleep;
use machinery::tokio_util::sync::{CancellationToken, DropGuard};
use machinery::tokio_util::task::TaskTracker;
use rustls::ServerConfig;
use rustls::pki_types::pem::PemObject as _;
use rustls::pki_types::{CertificateDer, PrivateKeyDer};
use tokio_rustls::TlsAcceptor;

use crate::cnf::CnfAuthority;
use crate::drive::rest::{RestConnector, RestLimits};
use crate::drive::{Cnf, CnfConnector as _, CnfCredentials, PodTarget};

/// The bytes of an answer to one request.
#[derive(Clone)]
pub(super) enum Answer {
    Bytes(String),
    /// After a time.
    Late(Duration, String),
    /// Then the connection ends.
    Half(String),
    Nothing,
}

/// A server with scripted answers; requests beyond them log in.
pub(super) struct Nonsense {
    target: PodTarget,
    pub(super) script: Arc<Mutex<VecDeque<Answer>>>,
    pub(super) requests: Arc<Mutex<Vec<String>>>,
    _stops: DropGuard,
}

pub(super) fn http(status: &str, headers: &str, body: &str) -> String {
    format!("HTTP/1.1 {status}\r\ncontent-length: {}\r\n{headers}\r\n{body}", body.len())
}

pub(super) fn login() -> Answer {
    Answer::Bytes(http("302 Found", "set-cookie: sysauth=t; path=/\r\n", ""))
}

pub(super) fn json_answer(body: &serde_json::Value) -> Answer {
    Answer::Bytes(http("200 OK", "", &body.to_string()))
}

pub(super) async fn nonsense(script: impl IntoIterator<Item = Answer>) -> Nonsense {
    let authority = CnfAuthority::new().unwrap();
    let issued = authority.issue(&["127.0.0.1".into()]).unwrap();
    let chain = CertificateDer::pem_slice_iter(issued.certificate.as_bytes()).map(Result::unwrap).collect();
    let key = PrivateKeyDer::from_pem_slice(issued.key.as_bytes()).unwrap();
    let config = ServerConfig::builder_with_provider(Arc::new(rustls::crypto::ring::default_provider()))
        .with_safe_default_protocol_versions()
        .unwrap()
        .with_no_client_auth()
        .with_single_cert(chain, key)
        .unwrap();
    let acceptor = TlsAcceptor::from(Arc::new(config));
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let port = listener.local_addr().unwrap().port();
    let script: VecDeque<_> = std::iter::once(login()).chain(script).collect();
    let (script, requests) = (Arc::new(Mutex::new(script)), Arc::<Mutex<Vec<String>>>::default());
    let stopping = CancellationToken::new();
    let (answers, received, ended) = (script.clone(), requests.clone(), stopping.clone());
    TaskTracker::new().spawn(async move {
        while let Some(Ok((stream, _))) = ended.run_until_cancelled(listener.accept()).await {
            let (acceptor, answers, received) = (acceptor.clone(), answers.clone(), received.clone());
            let serve = async move {
                let Ok(mut stream) = acceptor.accept(stream).await else { return };
                let mut buffer = vec![0; 1 << 16];
                loop {
                    let Ok(length @ 1..) = stream.read(&mut buffer).await else { return };
                    let text = String::from_utf8_lossy(&buffer[..length]).into_owned();
                    received.lock().push(text.lines().next().unwrap_or_default().to_owned());
                    let next = answers.lock().pop_front();
                    let bytes = match next {
                        Some(Answer::Bytes(bytes)) => bytes,
                        Some(Answer::Late(time, bytes)) => {
                            sleep(time).await;
                            bytes
                        }
                        Some(Answer::Half(bytes)) => {
                            let _ = stream.write_all(bytes.as_bytes()).await;
                            let _ = stream.shutdown().await;
                            return;
                        }
                        Some(Answer::Nothing) => continue,
                        None => http("404 Not Found", "", "no script is left"),
                    };
                    if stream.write_all(bytes.as_bytes()).await.is_err() {
                        return;
                    }
                }
            };
            let ended = ended.clone();
            TaskTracker::new().spawn(async move { ended.run_until_cancelled(serve).await });
        }
    });
    let target = PodTarget {
        namespace: "default".into(),
        name: "cnf-1".into(),
        uid: "u".into(),
        restarts: 0,
        ip: "127.0.0.1".into(),
        port,
        credentials: CnfCredentials {
            user: "root".into(),
            password: "secret".into(),
            authority: Some(authority.certificate().as_bytes().into()),
        },
        mac_key: b"key".as_slice().into(),
    };
    Nonsense { target, script, requests, _stops: stopping.drop_guard() }
}

impl Nonsense {
    pub(super) fn client(&self) -> Arc<dyn Cnf> {
        let limits =
            RestLimits { call: Duration::from_millis(400), answer_bytes: 1 << 16, ..RestLimits::default() };
        RestConnector::new(limits).connect(&self.target).unwrap()
    }
}
