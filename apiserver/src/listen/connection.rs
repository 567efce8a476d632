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
use tokio::io::{AsyncRead, AsyncWrite};
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::Semaphore;
use tokio::time::{sleep, timeout};
use tokio_rustls::TlsAcceptor;
use tokio_rustls::server::TlsStream;
use tokio_util::task::TaskTracker;
use tower_service::Service as _;

use super::ambiguous::reject_ambiguous;
use super::deadline::run_until_due;
use super::pace::{Pace, Paced};
use super::read_budget::{BudgetedStream, ReadBudget};
use super::send_progress::{SocketBody, StreamExecutor};
use crate::accept::ResponseFormat;
use crate::auth::Identity;
use crate::http::{Service, answer};
use crate::metrics::Event;
use crate::server::{Limits, Shared};
use crate::tls::peer;
use crate::tls::serving::Serving;

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
const DRAIN: Duration = Duration::from_secs(5);

/// Accepts connections until the server stops, then drains them.
pub(super) async fn accept(shared: Arc<Shared>, socket: TcpListener, serving: Option<Arc<Serving>>) {
    let open = TaskTracker::new();
    let places = Arc::new(Semaphore::new(shared.limits.connections.min(Semaphore::MAX_PERMITS)));
    loop {
        let Ok(place) = places.clone().acquire_owned().await else { break };
        let stream = tokio::select! {
            biased;
            () = shared.stopping.cancelled() => break,
            accepted = socket.accept() => match accepted {
                Ok((stream, _)) => stream,
                // The connection was aborted, or file descriptors are exhausted: wait for others to
                // close.
                Err(_) => {
                    sleep(Duration::from_millis(50)).await;
                    continue;
                }
            },
        };
        let (shared, serving, streams) = (shared.clone(), serving.clone(), open.clone());
        open.spawn(async move {
            let _place = (place, shared.metrics.connected());
            serve(StreamExecutor { shared, tasks: streams }, stream, serving).await;
        });
    }
    drop(socket);
    open.close();
    let _ = timeout(DRAIN, open.wait()).await;
}

async fn serve(streams: StreamExecutor, stream: TcpStream, serving: Option<Arc<Serving>>) {
    let shared = streams.shared.clone();
    prepare(&stream);
    let peer = stream.peer_addr().ok().map(|peer| peer.ip().to_canonical());
    let pace = Pace::new();
    let stream = Paced { stream, pace: pace.clone() };
    let Some(serving) = serving else {
        let admin = Some(Arc::new(Identity::admin()));
        return requests(streams, stream, pace, Service::new(shared, admin).from(peer), None).await;
    };
    // Boxed, so that the state of the handshake is freed after it.
    let handshake = Box::pin(timeout(shared.limits.head, TlsAcceptor::from(serving.config()).accept(stream)));
    let stream = match handshake.await {
        Ok(Ok(stream)) => stream,
        Ok(Err(_)) => return shared.metrics.handshake_failed(),
        Err(_) => return shared.metrics.counted.add(Event::LateHead),
    };
    pace.handshake_done();
    secured(streams, stream, pace, peer).await;
}

/// Sets socket options; failures are ignored.
fn prepare(stream: &TcpStream) {
    let _ = stream.set_nodelay(true);
    // By default the kernel buffers megabytes and reports free space late.
    #[cfg(any(target_os = "linux", target_os = "android", target_vendor = "apple"))]
    let _ = socket2::SockRef::from(stream).set_tcp_notsent_lowat(UNSENT);
}

fn secured(
    streams: StreamExecutor,
    stream: TlsStream<Paced<TcpStream>>,
    pace: Arc<Pace>,
    peer: Option<IpAddr>,
) -> impl Future<Output = ()> + Send {
    let (_, session) = stream.get_ref();
    let chain = session.peer_certificates().unwrap_or_default();
    let service = Service::new(streams.shared.clone(), peer::identity(chain).map(Arc::new)).from(peer);
    let protocol = match session.alpn_protocol() {
        Some(b"h2") => Some(Version::HTTP_2),
        Some(b"http/1.1") => Some(Version::HTTP_11),
        _ => None,
    };
    requests(streams, stream, pace, service, protocol)
}

/// Serves a connection. Without `protocol`, the protocol is detected from the first bytes.
///
/// Not an `async fn`: that would store its arguments twice for each connection.
pub(super) fn requests<S>(
    streams: StreamExecutor,
    stream: S,
    pace: Arc<Pace>,
    service: Service,
    protocol: Option<Version>,
) -> impl Future<Output = ()> + Send
where
    S: AsyncRead + AsyncWrite + Unpin + Send + 'static,
{
    let shared = streams.shared.clone();
    let builder = match (builder(streams, &shared.limits), protocol) {
        (builder, Some(Version::HTTP_2)) => builder.http2_only(),
        (builder, Some(_)) => builder.http1_only(),
        (builder, None) => builder,
    };
    let budget = ReadBudget::new();
    let stream = TokioIo::new(BudgetedStream::new(stream, budget.clone()));
    let service = service_fn({
        let (pace, budget) = (pace.clone(), budget.clone());
        move |request| {
            budget.request();
            answered(&pace, &service, request)
        }
    });
    let mut connection = Box::pin(builder.serve_connection(stream, service).into_owned());
    async move {
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
        match late {
            Some(Event::SlowWatch) => {
                return shared.metrics.counted.add_all(Event::SlowWatch, pace.watches());
            }
            Some(late @ (Event::LateHead | Event::SlowReader)) => return shared.metrics.counted.add(late),
            Some(late) => shared.metrics.counted.add(late),
            None => {}
        }
        connection.as_mut().graceful_shutdown();
        let _ = timeout(DRAIN, budget.poll_within(connection.as_mut())).await;
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

/// Not an `async fn`: that would keep the request in memory until the response is complete.
fn answered(
    pace: &Arc<Pace>,
    service: &Service,
    request: Request<Incoming>,
) -> impl Future<Output = Result<Response<SocketBody>, Infallible>> + Send + use<> {
    let http2 = request.version() == Version::HTTP_2;
    let (open, pace) = (pace.begin(http2), pace.clone());
    let answer = reject_ambiguous(&request).map_err(Box::new).map(|()| service.clone().call(request));
    async move {
        let response = match answer {
            Ok(answer) => answer.await?,
            Err(refusal) => answer::refused(&refusal, ResponseFormat::default()),
        };
        if http2 && response.status() == StatusCode::UNAUTHORIZED {
            pace.unauthenticated();
        }
        Ok(response.map(|body| SocketBody::new(body, open)))
    }
}
