//! A client of a served server: one HTTP/1.1 connection over TLS.

use std::sync::Arc;

use bytes::{Bytes, BytesMut};
use http::{Method, Request};
use http_body_util::{BodyExt as _, Full};
use hyper::body::Incoming;
use hyper::client::conn::http1::{SendRequest, handshake};
use hyper_util::rt::TokioIo;
use serde_json::Value;
use tokio::net::TcpStream;
use tokio::task::JoinSet;
use tokio_rustls::TlsConnector;
use tokio_rustls::client::TlsStream;
use tokio_rustls::rustls::crypto::ring;
use tokio_rustls::rustls::pki_types::pem::PemObject as _;
use tokio_rustls::rustls::pki_types::{CertificateDer, ServerName};
use tokio_rustls::rustls::{ClientConfig, RootCertStore};

use crate::program::Access;

/// The connection failed or was cut off: the outcome of a request is unknown.
#[derive(Debug)]
pub(crate) struct ConnectionLost;

/// Opens a TLS connection.
pub(crate) async fn stream(access: &Access) -> Result<TlsStream<TcpStream>, ConnectionLost> {
    let mut roots = RootCertStore::empty();
    roots.add(CertificateDer::from_pem_slice(access.ca.as_bytes()).unwrap()).unwrap();
    let builder = ClientConfig::builder_with_provider(Arc::new(ring::default_provider()));
    let builder = builder.with_safe_default_protocol_versions().unwrap();
    let config = Arc::new(builder.with_root_certificates(roots).with_no_client_auth());
    let stream = TcpStream::connect(access.address).await.map_err(|_| ConnectionLost)?;
    let name = ServerName::try_from("localhost").unwrap();
    TlsConnector::from(config).connect(name, stream).await.map_err(|_| ConnectionLost)
}

/// A persistent connection.
pub(crate) struct Connection {
    requests: SendRequest<Full<Bytes>>,
    token: String,
    /// The `Machinery-Fence` header of its requests.
    pub(crate) fence: Option<String>,
    /// Drives it, until this is dropped.
    _driver: JoinSet<()>,
}

impl Connection {
    pub(crate) async fn to(access: &Access) -> Result<Self, ConnectionLost> {
        let (requests, connection) =
            handshake(TokioIo::new(stream(access).await?)).await.map_err(|_| ConnectionLost)?;
        let mut driver = JoinSet::new();
        driver.spawn(async move {
            let _ = connection.await;
        });
        Ok(Self { requests, token: access.token.clone(), fence: None, _driver: driver })
    }

    pub(crate) async fn send(
        &mut self,
        method: Method,
        path: &str,
        body: Option<&Value>,
    ) -> Result<(u16, Incoming), ConnectionLost> {
        self.requests.ready().await.map_err(|_| ConnectionLost)?;
        let mut request = Request::builder()
            .method(method)
            .uri(path)
            .header("host", "localhost")
            .header("authorization", format!("Bearer {}", self.token))
            .header("content-type", "application/json");
        if let Some(fence) = &self.fence {
            request = request.header("machinery-fence", fence);
        }
        let body = body.map(Value::to_string).unwrap_or_default();
        let request = request.body(Full::from(body)).unwrap();
        let answer = self.requests.send_request(request).await.map_err(|_| ConnectionLost)?;
        Ok((answer.status().as_u16(), answer.into_body()))
    }

    /// Sends a request, and returns the status code and the whole body.
    pub(crate) async fn request(
        &mut self,
        method: Method,
        path: &str,
        body: Option<&Value>,
    ) -> Result<(u16, Value), ConnectionLost> {
        let (code, body) = self.send(method, path, body).await?;
        let bytes = body.collect().await.map_err(|_| ConnectionLost)?.to_bytes();
        let text = || Value::String(String::from_utf8_lossy(&bytes).into_owned());
        Ok((code, serde_json::from_slice(&bytes).unwrap_or_else(|_| text())))
    }

    pub(crate) async fn get(&mut self, path: &str) -> (u16, Value) {
        self.request(Method::GET, path, None).await.unwrap()
    }
}

/// The JSON lines of a watch.
pub(crate) struct WatchFrames {
    body: Incoming,
    rest: BytesMut,
}

impl WatchFrames {
    pub(crate) fn of(body: Incoming) -> Self {
        Self { body, rest: BytesMut::new() }
    }

    /// Returns whether the stream ends here as the server ends it.
    pub(crate) async fn ends(&mut self) -> bool {
        self.rest.is_empty() && self.body.frame().await.is_none()
    }

    /// The next event. `None`: the watch ended or was cut off. An incomplete line is discarded.
    pub(crate) async fn next(&mut self) -> Option<Value> {
        loop {
            if let Some(end) = self.rest.iter().position(|byte| *byte == b'\n') {
                let line = self.rest.split_to(end + 1);
                return Some(serde_json::from_slice(&line).unwrap());
            }
            let frame = self.body.frame().await?.ok()?;
            self.rest.extend_from_slice(&frame.into_data().unwrap_or_default());
        }
    }
}
