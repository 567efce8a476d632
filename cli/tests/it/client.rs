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

/// The connection could not be had, or was cut off: what was asked for may have happened.
#[derive(Debug)]
pub(crate) struct ConnectionLost;

/// A connection on which nothing was said yet.
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

/// A connection, kept.
pub(crate) struct Connection {
    requests: SendRequest<Full<Bytes>>,
    token: String,
    /// What its requests rest on, as a header.
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

    /// The code and the body of the answer, once all of it is there.
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

/// The frames of a watch.
pub(crate) struct WatchFrames {
    body: Incoming,
    rest: BytesMut,
}

impl WatchFrames {
    pub(crate) fn of(body: Incoming) -> Self {
        Self { body, rest: BytesMut::new() }
    }

    /// Whether what comes now is the end, as the server sends it.
    pub(crate) async fn ends(&mut self) -> bool {
        self.rest.is_empty() && self.body.frame().await.is_none()
    }

    /// The next one. `None`: the watch is over, or cut off. What came of a frame that is not whole counts for nothing.
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
