//! A pool of connections to one webhook.

use std::time::Duration;

use bytes::Bytes;
use http_body_util::Full;
use hyper::client::conn::http1::{self, SendRequest};
use hyper_util::rt::TokioIo;
use machinery_sync::Mutex;
use tokio::net::TcpStream;
use tokio::time::Instant;
use tokio_rustls::TlsConnector;

use super::WebhookTransport;
use super::target::{Address, WebhookTarget};

/// Idle connections in the pool.
const KEPT: usize = 16;
/// Lifetime of an idle connection.
const KEPT_FOR: Duration = Duration::from_secs(60);

/// Idle connections.
#[derive(Default)]
pub(super) struct ConnectionPool(Mutex<Vec<(Instant, WebhookConnection)>>);

pub(super) type WebhookConnection = SendRequest<Full<Bytes>>;

impl ConnectionPool {
    /// Takes a usable idle connection.
    pub(super) fn take(&self) -> Option<WebhookConnection> {
        let now = Instant::now();
        let mut kept = self.0.lock();
        kept.retain(|(since, one)| !one.is_closed() && now.duration_since(*since) < KEPT_FOR);
        let at = kept.iter().rposition(|(_, one)| one.is_ready())?;
        Some(kept.swap_remove(at).1)
    }

    /// Returns a connection to the pool after its response was read.
    pub(super) fn keep(&self, one: WebhookConnection) {
        let mut kept = self.0.lock();
        if kept.len() < KEPT && !one.is_closed() {
            kept.push((Instant::now(), one));
        }
    }
}

/// Opens a connection. Its task stops with the connection or the server.
pub(super) async fn connect(
    target: &WebhookTarget,
    transport: &WebhookTransport,
) -> Result<WebhookConnection, String> {
    let stream = match target.address(transport.services.as_deref())? {
        Address::Known(address) => TcpStream::connect(address).await,
        Address::Named(host, port) => TcpStream::connect((host.as_str(), port)).await,
    };
    let stream = stream.map_err(|error| format!("cannot connect to {}: {error}", target.authority))?;
    let _ = stream.set_nodelay(true);
    let tls = TlsConnector::from(target.tls.clone()).connect(target.server.clone(), stream).await;
    let tls = tls.map_err(|error| format!("no TLS with {}: {error}", target.authority))?;
    let (sender, connection) =
        http1::handshake(TokioIo::new(tls)).await.map_err(|error| error.to_string())?;
    let stopping = transport.stopping.clone();
    transport.tasks.spawn(async move {
        tokio::select! {
            biased;
            () = stopping.cancelled() => {}
            _ = connection => {}
        }
    });
    Ok(sender)
}
