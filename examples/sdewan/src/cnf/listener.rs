//! The socket of a CNF: TLS and HTTP/1.1, with limits.

use std::convert::Infallible;
use std::io;
use std::net::SocketAddr;
use std::pin::pin;
use std::sync::Arc;
use std::time::Duration;

use http::{Request, Response, StatusCode};
use http_body_util::{BodyExt as _, Full, LengthLimitError, Limited};
use hyper::body::{Bytes, Incoming};
use hyper::server::conn::http1;
use hyper::service::service_fn;
use hyper_util::rt::{TokioIo, TokioTimer};
use machinery::apiserver::{LingerLimits, LingeringStream, track_body};
use machinery::tokio::io::{AsyncRead, AsyncWrite};
use machinery::tokio::net::{TcpListener, TcpStream};
use machinery::tokio::sync::Semaphore;
use machinery::tokio::time::{sleep, timeout};
use machinery::tokio_util::sync::CancellationToken;
use machinery::tokio_util::task::TaskTracker;
use tokio_rustls::TlsAcceptor;

use super::connectivity::Connectivity;
use super::limits::CnfLimits;
use super::request::{CnfAnswer, CnfRequest};
use super::server::CnfServer;
use super::tls::CnfTls;

/// Pause after a failed accept: descriptors may be exhausted.
const PAUSE: Duration = Duration::from_millis(50);
/// The smallest buffer that hyper accepts.
const SMALLEST_HEAD: usize = 8 << 10;

/// A bound socket of a CNF, which serves once it [runs](Self::run).
pub struct CnfListener {
    listener: TcpListener,
    address: SocketAddr,
    /// Without TLS, only the page for probes is served.
    tls: Option<CnfTls>,
    connectivity: Connectivity,
}

impl CnfListener {
    /// Binds an address. Port 0 chooses a free one.
    ///
    /// # Errors
    /// The address is in use, or not of this machine.
    pub async fn bind(address: SocketAddr, tls: CnfTls) -> io::Result<Self> {
        Self::open(address, Some(tls), Connectivity::default()).await
    }

    /// Binds an address without TLS, for probes alone: other requests are refused.
    ///
    /// # Errors
    /// As [`bind`](Self::bind).
    pub async fn bind_for_probes(address: SocketAddr, connectivity: Connectivity) -> io::Result<Self> {
        Self::open(address, None, connectivity).await
    }

    async fn open(address: SocketAddr, tls: Option<CnfTls>, connectivity: Connectivity) -> io::Result<Self> {
        let listener = TcpListener::bind(address).await?;
        let address = listener.local_addr()?;
        Ok(Self { listener, address, tls, connectivity })
    }

    /// Returns the bound address.
    #[must_use]
    pub const fn address(&self) -> SocketAddr {
        self.address
    }

    /// Returns the handle that disconnects the CNF.
    #[must_use]
    pub fn connectivity(&self) -> Connectivity {
        self.connectivity.clone()
    }

    /// Serves until `stopping` is cancelled, then completes requests in flight within
    /// [`CnfLimits::drain`]. Dropping the future closes the socket and all connections.
    pub async fn run(self, cnf: Arc<CnfServer>, stopping: CancellationToken) {
        let limits = *cnf.limits();
        let tasks = TaskTracker::new();
        // Of this future: its connections end with it.
        let ending = stopping.child_token();
        let ends_connections = ending.clone().drop_guard();
        let room = Arc::new(Semaphore::new(limits.connections.clamp(1, Semaphore::MAX_PERMITS)));
        loop {
            let accepted = async {
                // Before the accept: connections beyond the limit wait in the kernel.
                let place = room.clone().acquire_owned().await;
                (self.listener.accept().await, place)
            };
            let (accepted, place) = machinery::tokio::select! {
                biased;
                () = stopping.cancelled() => break,
                accepted = accepted => accepted,
            };
            let Ok((stream, _)) = accepted else {
                sleep(PAUSE).await;
                continue;
            };
            let (cnf, tls, connectivity) = (cnf.clone(), self.tls.clone(), self.connectivity.clone());
            let (ending, requests) = (ending.clone(), tasks.clone());
            tasks.spawn(async move {
                serve((cnf, requests), tls, stream, connectivity, ending).await;
                drop(place);
            });
        }
        drop((self.listener, ends_connections));
        tasks.close();
        let has_drained = timeout(limits.drain, tasks.wait()).await.is_ok();
        if !has_drained && !limits.drain.is_zero() {
            tracing::warn!(left = tasks.len(), "connections of the CNF were open after the grace period");
        }
    }
}

async fn serve(
    cnf: (Arc<CnfServer>, TaskTracker),
    tls: Option<CnfTls>,
    stream: TcpStream,
    connectivity: Connectivity,
    ending: CancellationToken,
) {
    let _ = stream.set_nodelay(true);
    let stream = LingeringStream::new(stream, LingerLimits::default());
    let Some(tls) = tls else { return exchange(cnf, stream, true, connectivity, ending).await };
    let receive = cnf.0.limits().receive;
    let handshake = async {
        connectivity.connected().await;
        timeout(receive, TlsAcceptor::from(tls.config()).accept(stream)).await
    };
    let Some(Ok(Ok(stream))) = ending.run_until_cancelled(handshake).await else { return };
    exchange(cnf, stream, false, connectivity, ending).await;
}

/// Serves the requests of a connection.
async fn exchange<S: AsyncRead + AsyncWrite + Unpin>(
    (cnf, requests): (Arc<CnfServer>, TaskTracker),
    stream: S,
    is_for_probes: bool,
    connectivity: Connectivity,
    ending: CancellationToken,
) {
    let limits = *cnf.limits();
    let service = service_fn(|request: Request<Incoming>| {
        let (cnf, requests, connectivity) = (cnf.clone(), requests.clone(), connectivity.clone());
        async move {
            let (request, unread) = track_body(request);
            connectivity.connected().await;
            let answer = match receive(request, &limits).await {
                Ok(request) => {
                    connectivity.connected().await;
                    match is_for_probes && request.path != "/" {
                        true => CnfAnswer::message(StatusCode::FORBIDDEN, "the REST API needs TLS"),
                        // A task: a client that goes does not end a change half-way.
                        false => requests
                            .spawn(async move { cnf.answer(request).await })
                            .await
                            .unwrap_or_else(|_| {
                                CnfAnswer::message(StatusCode::INTERNAL_SERVER_ERROR, "the request failed")
                            }),
                    }
                }
                Err(refusal) => refusal,
            };
            // An answer that is ready when the cable is pulled waits, too.
            connectivity.connected().await;
            let response: Response<Full<Bytes>> = answer.into_response();
            Ok::<_, Infallible>(unread.close_after(response))
        }
    });
    let connection = http1::Builder::new()
        .timer(TokioTimer::new())
        .header_read_timeout(limits.receive)
        .max_buf_size(limits.head_bytes.max(SMALLEST_HEAD))
        .serve_connection(TokioIo::new(stream), service);
    let mut connection = pin!(connection);
    machinery::tokio::select! {
        biased;
        // Protocol errors are the client's concern.
        _ = connection.as_mut() => return,
        () = ending.cancelled() => connection.as_mut().graceful_shutdown(),
    }
    let _ = timeout(limits.drain, connection).await;
}

/// Receives a body within the limits of size and time.
async fn receive<B>(request: Request<B>, limits: &CnfLimits) -> Result<CnfRequest, CnfAnswer>
where
    B: http_body::Body<Data = Bytes> + Send,
    B::Error: Into<Box<dyn std::error::Error + Send + Sync>>,
{
    let (head, body) = request.into_parts();
    let received = timeout(limits.receive, Limited::new(body, limits.body_bytes).collect()).await;
    let body = match received {
        Ok(Ok(body)) => body.to_bytes(),
        Ok(Err(error)) if error.is::<LengthLimitError>() => {
            let text = format!("the body has more than {} bytes", limits.body_bytes);
            return Err(CnfAnswer::message(StatusCode::PAYLOAD_TOO_LARGE, &text));
        }
        Ok(Err(error)) => {
            let text = format!("Body parse error: {error}");
            return Err(CnfAnswer::message(StatusCode::BAD_REQUEST, &text));
        }
        Err(_) => {
            let text = format!("the body was not received within {:?}", limits.receive);
            return Err(CnfAnswer::message(StatusCode::REQUEST_TIMEOUT, &text));
        }
    };
    Ok(CnfRequest { method: head.method, path: head.uri.path().to_owned(), headers: head.headers, body })
}
