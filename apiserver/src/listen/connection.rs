//! Connections: who is on the other end, and for how long nothing may come from there.

use std::sync::Arc;
use std::time::Duration;

use hyper_util::rt::{TokioExecutor, TokioIo, TokioTimer};
use hyper_util::server::conn::auto;
use hyper_util::service::TowerToHyperService;
use tokio::io::{AsyncRead, AsyncWrite};
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::Semaphore;
use tokio::time::{sleep, timeout};
use tokio_rustls::TlsAcceptor;
use tokio_util::task::TaskTracker;

use crate::auth::Identity;
use crate::http::Service;
use crate::server::Shared;
use crate::tls::peer;
use crate::tls::serving::Serving;

/// A handshake, and the head of a request, must come within this.
const HANDSHAKE: Duration = Duration::from_secs(10);
/// So many connections at the same time. Others wait in the kernel's queue.
const MOST: usize = 10_000;
/// Requests at the same time on one connection: informers share one.
const STREAMS: u32 = 1000;
/// A head with its path and all headers.
const HEAD_BYTES: u32 = 64 << 10;
/// Whoever says nothing on an idle connection is asked, and has so long to answer.
const IDLE: Duration = Duration::from_secs(30);
const ANSWER: Duration = Duration::from_secs(20);
/// How long open connections have to end when the server stops.
const DRAIN: Duration = Duration::from_secs(5);

/// Takes connections until the server stops, and waits for those that are open.
pub(super) async fn accept(shared: Arc<Shared>, socket: TcpListener, serving: Option<Arc<Serving>>) {
    let open = TaskTracker::new();
    let places = Arc::new(Semaphore::new(MOST));
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
        let (shared, serving) = (shared.clone(), serving.clone());
        open.spawn(async move {
            let _place = (place, shared.metrics.connected());
            serve(shared, stream, serving).await;
        });
    }
    drop(socket);
    open.close();
    let _ = timeout(DRAIN, open.wait()).await;
}

async fn serve(shared: Arc<Shared>, stream: TcpStream, serving: Option<Arc<Serving>>) {
    let _ = stream.set_nodelay(true);
    let Some(serving) = serving else {
        let admin = Some(Arc::new(Identity::admin()));
        return requests(shared.clone(), stream, Service::new(shared, admin)).await;
    };
    let handshake = TlsAcceptor::from(serving.config()).accept(stream);
    let Ok(Ok(stream)) = timeout(HANDSHAKE, handshake).await else {
        return shared.metrics.handshake_failed();
    };
    let chain = stream.get_ref().1.peer_certificates().unwrap_or_default();
    let identity = peer::identity(chain).map(Arc::new);
    requests(shared.clone(), stream, Service::new(shared, identity)).await;
}

async fn requests<S>(shared: Arc<Shared>, stream: S, service: Service)
where
    S: AsyncRead + AsyncWrite + Unpin + Send + 'static,
{
    let mut builder = auto::Builder::new(TokioExecutor::new());
    builder
        .http1()
        .timer(TokioTimer::new())
        .header_read_timeout(HANDSHAKE)
        .max_buf_size(HEAD_BYTES as usize * 4)
        .http2()
        .timer(TokioTimer::new())
        .max_concurrent_streams(STREAMS)
        .max_header_list_size(HEAD_BYTES)
        .keep_alive_interval(IDLE)
        .keep_alive_timeout(ANSWER);
    let connection = builder.serve_connection(TokioIo::new(stream), TowerToHyperService::new(service));
    let mut connection = std::pin::pin!(connection);
    tokio::select! {
        biased;
        // What goes wrong on a connection is its client's to see.
        _ = connection.as_mut() => return,
        () = shared.stopping.cancelled() => connection.as_mut().graceful_shutdown(),
    }
    let _ = timeout(DRAIN, connection).await;
}
