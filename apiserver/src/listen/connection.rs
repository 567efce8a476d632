//! Connections: who is on the other end, and for how long nothing may come from there.

use std::convert::Infallible;
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
use tokio_util::task::TaskTracker;
use tower_service::Service as _;

use super::exact::exact;
use super::pace::{Pace, Paced};
use super::taken::{Sent, Streams};
use super::until::until;
use crate::accept::Form;
use crate::auth::Identity;
use crate::http::{Service, answer};
use crate::metrics::Event;
use crate::server::{Limits, Shared};
use crate::tls::peer;
use crate::tls::serving::Serving;

/// hyper takes no shorter one.
const LEAST_HEAD: usize = 8 << 10;
/// Whoever says nothing on a connection of HTTP/2 is asked whether it is there, and has so long to answer.
const PING: Duration = Duration::from_secs(30);
const PONG: Duration = Duration::from_secs(20);
/// How long open connections have to end when the server stops.
const DRAIN: Duration = Duration::from_secs(5);

/// Takes connections until the server stops, and waits for those that are open.
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
                // The one that came is gone, or there are no descriptors left: others end meanwhile.
                Err(_) => {
                    sleep(Duration::from_millis(50)).await;
                    continue;
                }
            },
        };
        let (shared, serving, streams) = (shared.clone(), serving.clone(), open.clone());
        open.spawn(async move {
            let _place = (place, shared.metrics.connected());
            serve(Streams { shared, tasks: streams }, stream, serving).await;
        });
    }
    drop(socket);
    open.close();
    let _ = timeout(DRAIN, open.wait()).await;
}

async fn serve(streams: Streams, stream: TcpStream, serving: Option<Arc<Serving>>) {
    let shared = streams.shared.clone();
    let _ = stream.set_nodelay(true);
    let Some(serving) = serving else {
        let admin = Some(Arc::new(Identity::admin()));
        return requests(streams, stream, Service::new(shared, admin)).await;
    };
    let handshake = TlsAcceptor::from(serving.config()).accept(stream);
    let stream = match timeout(shared.limits.head, handshake).await {
        Ok(Ok(stream)) => stream,
        Ok(Err(_)) => return shared.metrics.handshake_failed(),
        Err(_) => return shared.metrics.counted.add(Event::LateHead),
    };
    let chain = stream.get_ref().1.peer_certificates().unwrap_or_default();
    let identity = peer::identity(chain).map(Arc::new);
    requests(streams, stream, Service::new(shared, identity)).await;
}

pub(super) async fn requests<S>(streams: Streams, stream: S, service: Service)
where
    S: AsyncRead + AsyncWrite + Unpin + Send + 'static,
{
    let shared = streams.shared.clone();
    let (limits, pace) = (shared.limits, Pace::new());
    let connection = builder(streams, &limits);
    let service = service_fn({
        let pace = pace.clone();
        move |request| answered(pace.clone(), service.clone(), request)
    });
    let stream = TokioIo::new(Paced { stream, pace: pace.clone() });
    let mut connection = std::pin::pin!(connection.serve_connection(stream, service));
    let late = tokio::select! {
        biased;
        // What goes wrong on a connection is its client's to see.
        ended = until(connection.as_mut(), || pace.due(&limits)) => match ended {
            Ok(_) => return,
            Err(late) => Some(late),
        },
        () = shared.stopping.cancelled() => None,
    };
    late.inspect(|late| shared.metrics.counted.add(*late));
    if matches!(late, Some(Event::LateHead | Event::SlowReader)) {
        return;
    }
    connection.as_mut().graceful_shutdown();
    let _ = timeout(DRAIN, connection).await;
}

fn builder(streams: Streams, limits: &Limits) -> auto::Builder<Streams> {
    let mut builder = auto::Builder::new(streams);
    let head = usize::try_from(limits.head_bytes).unwrap_or(usize::MAX).max(LEAST_HEAD);
    builder
        .http1()
        .timer(TokioTimer::new())
        // The pace of a connection is watched here: what is idle, and what is slow, are two things.
        .header_read_timeout(None)
        .max_headers(limits.headers)
        .max_buf_size(head)
        .http2()
        .timer(TokioTimer::new())
        .max_concurrent_streams(limits.streams)
        .max_header_list_size(limits.head_bytes)
        .keep_alive_interval(PING)
        .keep_alive_timeout(PONG);
    builder
}

async fn answered(
    pace: Arc<Pace>,
    mut service: Service,
    request: Request<Incoming>,
) -> Result<Response<Sent>, Infallible> {
    let http2 = request.version() == Version::HTTP_2;
    let open = pace.begins(http2);
    let response = match exact(&request) {
        Ok(()) => service.call(request).await?,
        Err(refusal) => answer::refused(&refusal, Form::default()),
    };
    if http2 && response.status() == StatusCode::UNAUTHORIZED {
        pace.unwanted();
    }
    Ok(response.map(|body| Sent::new(body, open)))
}
