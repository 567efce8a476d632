//! Connections of a webhook server: TLS, HTTP/1.1 and HTTP/2.

use std::convert::Infallible;
use std::future::Future;
use std::sync::Arc;
use std::time::Duration;

use http::Request;
use hyper::body::Incoming;
use hyper::rt::Executor;
use hyper::service::service_fn;
use hyper_util::rt::{TokioIo, TokioTimer};
use hyper_util::server::conn::auto;
use tokio::net::TcpStream;
use tokio::time::timeout;
use tokio_rustls::TlsAcceptor;
use tokio_util::task::TaskTracker;

use super::limits::WebhookLimits;
use super::routes::Routes;
use super::tls::ReloadedTls;
use crate::listen::{LingerLimits, LingeringStream, track_body};

/// Interval of HTTP/2 pings, and the timeout of their answer: a client that has vanished gives up
/// its place.
const PING: Duration = Duration::from_secs(30);
const PONG: Duration = Duration::from_secs(15);

/// Runs the streams of HTTP/2 connections as tasks of the server.
#[derive(Clone)]
struct TrackedExecutor(TaskTracker);

impl<F: Future<Output: Send> + Send + 'static> Executor<F> for TrackedExecutor {
    fn execute(&self, work: F) {
        self.0.spawn(work);
    }
}

/// Serves one connection until it ends or the server stops.
pub(super) async fn serve(routes: Arc<Routes>, tls: Arc<ReloadedTls>, stream: TcpStream, tasks: TaskTracker) {
    let limits = routes.limits;
    let stream = LingeringStream::new(stream, LingerLimits::default());
    let accepted = timeout(limits.receive, TlsAcceptor::from(tls.config()).accept(stream)).await;
    let Ok(Ok(stream)) = accepted else {
        routes.metrics.refused.count(["handshake"]);
        return;
    };
    let has_certificate = stream.get_ref().1.peer_certificates().is_some_and(|chain| !chain.is_empty());
    let is_known = has_certificate || !tls.requires_client;
    let service = service_fn({
        let routes = routes.clone();
        move |request: Request<Incoming>| {
            let routes = routes.clone();
            async move {
                let (request, unread) = track_body(request);
                Ok::<_, Infallible>(unread.close_after(routes.answer(request, is_known).await))
            }
        }
    });
    let builder = builder(&limits, tasks);
    let connection = builder.serve_connection(TokioIo::new(stream), service);
    let mut connection = std::pin::pin!(connection);
    tokio::select! {
        biased;
        // Protocol errors are the client's concern.
        _ = connection.as_mut() => return,
        () = routes.stopping.cancelled() => connection.as_mut().graceful_shutdown(),
    }
    let _ = timeout(limits.drain, connection).await;
}

fn builder(limits: &WebhookLimits, tasks: TaskTracker) -> auto::Builder<TrackedExecutor> {
    let mut builder = auto::Builder::new(TrackedExecutor(tasks));
    // The smallest buffer that hyper accepts.
    let head = usize::try_from(limits.head_bytes).unwrap_or(usize::MAX).max(8 << 10);
    builder
        .http1()
        .timer(TokioTimer::new())
        .header_read_timeout(limits.receive)
        .max_buf_size(head)
        .http2()
        .timer(TokioTimer::new())
        .max_concurrent_streams(limits.streams)
        .max_header_list_size(limits.head_bytes)
        .keep_alive_interval(PING)
        .keep_alive_timeout(PONG);
    builder
}
