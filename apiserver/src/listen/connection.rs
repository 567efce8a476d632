//! Connections: client identity, timeouts and limits.

use std::convert::Infallible;
use std::future::Future;
use std::net::IpAddr;
use std::pin::pin;
use std::sync::Arc;
use std::time::Duration;

use http::{Request, Response, StatusCode, Version};
use hyper::body::Incoming;
use hyper::service::service_fn;
use hyper_util::rt::{TokioIo, TokioTimer};
use hyper_util::server::conn::auto;
use tokio::io::{AsyncRead, AsyncWrite, AsyncWriteExt as _};
use tokio::net::TcpStream;
use tokio::time::timeout;
use tokio_rustls::TlsAcceptor;
use tower_service::Service as _;

use super::ambiguous::reject_ambiguous;
use super::client::{ClientState, ConnectionClient};
use super::deadline::run_until_due;
use super::expiry::Expiry;
use super::lingering::{LingerLimits, LingeringStream};
use super::listener::Protection;
use super::origin::LocalNames;
use super::pace::{Pace, Paced};
use super::read_budget::{BudgetedStream, ReadBudget};
use super::send_progress::{SocketBody, StreamExecutor};
use super::unread_body::{close_after, track_body};
use crate::accept::ResponseFormat;
use crate::auth::Identity;
use crate::http::{Service, answer};
use crate::metrics::Event;
use crate::refusal::Refusal;
use crate::server::Limits;
use crate::tls::peer;

/// The minimum that hyper accepts.
const LEAST_HEAD: usize = 8 << 10;
/// Interval of HTTP/2 pings on idle connections, and the timeout of the reply.
const PING: Duration = Duration::from_secs(30);
const PONG: Duration = Duration::from_secs(20);
/// Maximum bytes buffered per HTTP/2 stream for a slow client; then the response stops being
/// produced.
const SEND_BUFFER: usize = 64 << 10;
/// Maximum unsent bytes buffered in a socket.
const UNSENT: u32 = 128 << 10;
/// Time for open connections to finish when the server stops.
pub(super) const DRAIN: Duration = Duration::from_secs(5);
/// Time for requests in flight to finish when the client's certificate expires.
const EXPIRED_DRAIN: Duration = Duration::from_secs(1);

/// Serves an accepted connection.
pub(super) async fn serve(
    streams: StreamExecutor,
    stream: TcpStream,
    protection: Protection,
    client: ConnectionClient,
) {
    let shared = streams.shared.clone();
    prepare(&stream);
    let [local, peer] = [stream.local_addr(), stream.peer_addr()].map(|address| Some(address.ok()?.ip()));
    let pace = Pace::new(client);
    // Below TLS, so that bytes after the end are not decrypted; and below `Pace`, which has no
    // deadline for them.
    let stream = LingeringStream::new(stream, LingerLimits::default());
    let stream = Paced::new(stream, pace.clone());
    let service =
        |identity| Service::new(shared.clone(), identity).from(peer.map(|peer| peer.to_canonical()));
    let serving = match protection {
        Protection::Tls(serving) => serving,
        Protection::Insecure(names) => {
            let admin = Arc::new(Identity::admin());
            pace.authenticated(admin.clone());
            let service = service(Some(admin));
            let http = HttpConnection { pace, service, protocol: None, origins: Some((names, local)) };
            return requests(streams, stream, http).await;
        }
    };
    // Boxed, so that the state of the handshake is freed after it.
    let handshake = TlsAcceptor::from(serving.config()).accept(stream).into_fallible();
    let handshake = Box::pin(timeout(shared.limits.head, handshake));
    let stream = match handshake.await {
        Ok(Ok(stream)) => stream,
        Ok(Err((_, mut stream))) => {
            shared.metrics.handshake_failed();
            // A client may send its request before it reads the alert that names the reason.
            let _ = timeout(DRAIN, stream.shutdown()).await;
            return;
        }
        Err(_) => return shared.metrics.counted.add(Event::LateHead),
    };
    let (_, session) = stream.get_ref();
    let chain = session.peer_certificates().unwrap_or_default();
    let identity = peer::identity(chain).map(Arc::new);
    if let Some(identity) = &identity {
        pace.authenticated(identity.clone());
        Expiry::of(shared.clone(), chain).into_iter().for_each(|expiry| pace.expires(expiry));
    }
    let protocol = match session.alpn_protocol() {
        Some(b"h2") => Some(Version::HTTP_2),
        Some(b"http/1.1") => Some(Version::HTTP_11),
        _ => None,
    };
    let http = HttpConnection { pace, service: service(identity), protocol, origins: None };
    requests(streams, stream, http).await;
}

/// Sets socket options; failures are ignored.
fn prepare(stream: &TcpStream) {
    let _ = stream.set_nodelay(true);
    // By default the kernel buffers megabytes and reports free space late.
    #[cfg(any(target_os = "linux", target_os = "android", target_vendor = "apple"))]
    let _ = socket2::SockRef::from(stream).set_tcp_notsent_lowat(UNSENT);
}

/// A connection of HTTP, after the handshake.
pub(super) struct HttpConnection {
    pub(super) pace: Arc<Pace>,
    pub(super) service: Service,
    /// `None`: the protocol is detected from the first bytes.
    pub(super) protocol: Option<Version>,
    /// The names of an insecure server, and the address that the client has connected to.
    pub(super) origins: Option<(Arc<LocalNames>, Option<IpAddr>)>,
}

/// Serves the requests of a connection.
///
/// Not an `async fn`: that would store its arguments twice for each connection.
pub(super) fn requests<S>(
    streams: StreamExecutor,
    stream: S,
    http: HttpConnection,
) -> impl Future<Output = ()> + Send
where
    S: AsyncRead + AsyncWrite + Unpin + Send + 'static,
{
    let shared = streams.shared.clone();
    let pace = http.pace.clone();
    let builder = match (builder(streams, &shared.limits), http.protocol) {
        (builder, Some(Version::HTTP_2)) => builder.http2_only(),
        (builder, Some(_)) => builder.http1_only(),
        (builder, None) => builder,
    };
    let budget = ReadBudget::new();
    let stream = TokioIo::new(BudgetedStream::new(stream, budget.clone()));
    let service = service_fn({
        let budget = budget.clone();
        move |request| {
            budget.request();
            http.answered(request)
        }
    });
    let mut connection = Box::pin(builder.serve_connection(stream, service).into_owned());
    let end = ConnectionEnd(pace.clone());
    async move {
        let _end = end;
        let late = {
            let work = pin!(budget.poll_within(connection.as_mut()));
            tokio::select! {
                biased;
                // Protocol errors are the client's concern.
                ended = run_until_due(work, || pace.due(&shared.limits)) => match ended {
                    Ok(_) => return,
                    Err(late) => Some(late),
                },
                () = shared.stopping.cancelled() => None,
            }
        };
        let drain = if late == Some(Event::ExpiredCertificate) { EXPIRED_DRAIN } else { DRAIN };
        match late {
            Some(Event::SlowWatch) => {
                return shared.metrics.counted.add_all(Event::SlowWatch, pace.watches());
            }
            Some(late @ (Event::LateHead | Event::SlowReader)) => return shared.metrics.counted.add(late),
            Some(late) => shared.metrics.counted.add(late),
            None => {}
        }
        connection.as_mut().graceful_shutdown();
        let _ = timeout(drain, budget.poll_within(connection.as_mut())).await;
    }
}

/// Records the end of a connection when it is dropped.
struct ConnectionEnd(Arc<Pace>);

impl Drop for ConnectionEnd {
    fn drop(&mut self) {
        self.0.ended();
    }
}

fn builder(streams: StreamExecutor, limits: &Limits) -> auto::Builder<StreamExecutor> {
    let mut builder = auto::Builder::new(streams);
    let head = usize::try_from(limits.head_bytes).unwrap_or(usize::MAX).max(LEAST_HEAD);
    builder
        .http1()
        .timer(TokioTimer::new())
        // `Pace` has separate timeouts for idle and slow connections.
        .header_read_timeout(None)
        .max_headers(limits.headers)
        .max_buf_size(head)
        .http2()
        .timer(TokioTimer::new())
        .max_send_buf_size(SEND_BUFFER)
        .max_concurrent_streams(limits.streams)
        .max_header_list_size(limits.head_bytes)
        .keep_alive_interval(PING)
        .keep_alive_timeout(PONG);
    builder
}

impl HttpConnection {
    /// Not an `async fn`: that would keep the request in memory until the response is complete.
    fn answered(
        &self,
        request: Request<Incoming>,
    ) -> impl Future<Output = Result<Response<SocketBody>, Infallible>> + Send + use<> {
        let http2 = request.version() == Version::HTTP_2;
        let ((open, client), pace) = (self.pace.begin(http2), self.pace.clone());
        let (request, unread) = track_body(request);
        let mut service = match client {
            // An expired certificate no longer authenticates.
            ClientState::Expired => self.service.without_identity(),
            ClientState::Unknown | ClientState::Known => self.service.clone(),
        };
        let mut is_known = client == ClientState::Known;
        if client == ClientState::Unknown
            && let Some(sender) = service.sender(request.headers())
        {
            pace.authenticated(sender);
            is_known = true;
        }
        let answer = self.check(&request).map_err(Box::new).map(|()| service.call(request));
        async move {
            let response = match answer {
                Ok(answer) => answer.await?,
                // Of two readings of the request, the bytes after it may belong to one.
                Err(refusal) if http2 => answer::refused(&refusal, ResponseFormat::default()),
                Err(refusal) => close_after(answer::refused(&refusal, ResponseFormat::default())),
            };
            let response = match (response.status(), http2) {
                (StatusCode::UNAUTHORIZED, true) => {
                    pace.unauthenticated();
                    response
                }
                (StatusCode::UNAUTHORIZED, false) if !is_known => close_after(response),
                _ => unread.close_after(response),
            };
            Ok(response.map(|body| SocketBody::new(body, open)))
        }
    }

    fn check<B>(&self, request: &Request<B>) -> Result<(), Refusal> {
        reject_ambiguous(request)?;
        match &self.origins {
            Some((names, local)) => names.check(request, *local),
            None => Ok(()),
        }
    }
}
