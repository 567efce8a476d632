//! The connection pool of one server.

use std::sync::Arc;
use std::task::{Context, Poll};
use std::time::Duration;

use futures::future::BoxFuture;
use http::uri::PathAndQuery;
use http::{HeaderValue, Request, Response, Uri, header};
use hyper::client::conn::{http1, http2};
use kube_client::client::Body;
use machinery_sync::Mutex;
use machinery_sync::atomic::{AtomicUsize, Ordering};
use tokio::sync::oneshot;
use tokio::time::timeout;
use tokio_util::task::TaskTracker;
use tower_service::Service;

use super::client::Connections;
use super::connection::{Http2Connection, StreamSlot, handshake_http1};
use super::dial::{BoxError, Dial};
use super::response_body::ResponseBody;

/// The request was not sent: it changed nothing.
#[derive(Debug, thiserror::Error)]
#[error("no connection: {0}")]
pub(crate) struct Unsent(String);

/// Number of attempts for a request that connections return unsent.
const ATTEMPTS: usize = 8;

/// The connection pool of one server. Cheap to clone; after the last clone is dropped, each
/// connection ends with its last response.
#[derive(Clone)]
pub(super) struct Pool(Arc<Inner>);

struct Inner {
    dial: Dial,
    target: Uri,
    connect_timeout: Option<Duration>,
    limits: Connections,
    tasks: TaskTracker,
    state: Mutex<State>,
    /// Number of HTTP/1.1 connections, used, idle or being opened.
    http1_count: Arc<AtomicUsize>,
    /// Held while a connection is opened that others may share.
    dialing: Arc<tokio::sync::Mutex<()>>,
}

#[derive(Default)]
struct State {
    shared: Vec<Http2Connection>,
    idle: Vec<Http1Connection>,
    /// Whether the server is known not to support HTTP/2.
    is_http1: bool,
    /// Number of failed attempts to connect, and the reason of the last one.
    failures: u64,
    failure: String,
}

/// A connection with capacity for a request.
enum FreeConnection {
    Http2Connection(http2::SendRequest<Body>, StreamSlot),
    Http1Connection(Http1Connection),
}

/// An HTTP/1.1 connection, idle or with its request. Closed when dropped.
pub(super) struct Http1Connection {
    sender: http1::SendRequest<Body>,
    _permit: ConnectionPermit,
}

/// A permit for one HTTP/1.1 connection, taken before it is opened.
struct ConnectionPermit(Arc<AtomicUsize>);

impl Pool {
    pub(super) fn new(
        dial: Dial,
        target: Uri,
        connect_timeout: Option<Duration>,
        limits: Connections,
    ) -> Self {
        let (tasks, state) = (TaskTracker::new(), Mutex::default());
        let (http1_count, dialing) = (Arc::default(), Arc::default());
        Self(Arc::new(Inner { dial, target, connect_timeout, limits, tasks, state, http1_count, dialing }))
    }

    async fn send(self, mut request: Request<Body>) -> Result<Response<ResponseBody>, BoxError> {
        let mut reason = String::new();
        // No retry: only a request that a closing connection returned unsent is sent again.
        for _ in 0..ATTEMPTS {
            let mut refused = match self.connection().await? {
                FreeConnection::Http2Connection(mut sender, slot) => {
                    match sender.try_send_request(request).await {
                        Ok(response) => {
                            return Ok(
                                response.map(|body| ResponseBody::new(body, BodySlot::Http2Connection(slot)))
                            );
                        }
                        Err(refused) => refused,
                    }
                }
                FreeConnection::Http1Connection(mut single) => {
                    origin_form(&mut request);
                    match single.sender.try_send_request(request).await {
                        Ok(response) => {
                            let slot = BodySlot::Http1Connection(self.clone(), single);
                            return Ok(response.map(|body| ResponseBody::new(body, slot)));
                        }
                        Err(refused) => refused,
                    }
                }
            };
            // The connection ended before the request was sent, or the outcome is unknown.
            let Some(unsent) = refused.take_message() else { return Err(refused.into_error().into()) };
            (request, reason) = (unsent, crate::call::chain(refused.error()));
        }
        Err(Unsent(format!("the server closes each before it is used: {reason}")).into())
    }

    async fn connection(&self) -> Result<FreeConnection, Unsent> {
        if let Some(found) = self.find_free() {
            return Ok(found);
        }
        let (is_http1, failures) = {
            let state = self.0.state.lock();
            (state.is_http1, state.failures)
        };
        // A shared connection is opened once; concurrent requests wait for it, and fail with it.
        let dial_lock = if is_http1 { None } else { Some(self.0.dialing.clone().lock_owned().await) };
        if let Some(found) = self.find_free() {
            return Ok(found);
        }
        if !is_http1 && self.0.state.lock().failures != failures {
            return Err(Unsent(self.0.state.lock().failure.clone()));
        }
        // In a task of its own, because the caller may be dropped while others wait for the
        // connection.
        let (report, dialed) = oneshot::channel();
        let pool = self.clone();
        self.0.tasks.spawn(async move {
            let dialed = pool.dialed().await;
            if let Err(Unsent(reason)) = &dialed {
                let mut state = pool.0.state.lock();
                (state.failures, state.failure) = (state.failures + 1, reason.clone());
            }
            drop(dial_lock);
            if let Err(Ok(FreeConnection::Http1Connection(unused))) = report.send(dialed) {
                pool.release(unused);
            }
        });
        dialed.await.unwrap_or_else(|_| Err(Unsent("the program is being stopped".into())))
    }

    /// Returns an open connection with capacity.
    fn find_free(&self) -> Option<FreeConnection> {
        let mut state = self.0.state.lock();
        state.shared.retain(|connection| !connection.is_closed());
        state.idle.retain(|single| !single.sender.is_closed());
        let most = self.0.limits.max_streams;
        let shared = state.shared.iter().find_map(|connection| {
            Some(FreeConnection::Http2Connection(connection.sender(), connection.slot(most)?))
        });
        shared.or_else(|| {
            // From the end: the server is least likely to close the one that was used last.
            let at = state.idle.iter().rposition(|single| single.sender.is_ready())?;
            Some(FreeConnection::Http1Connection(state.idle.swap_remove(at)))
        })
    }

    async fn dialed(&self) -> Result<FreeConnection, Unsent> {
        let Inner { dial, target, connect_timeout, limits, tasks, state, .. } = &*self.0;
        let permit = self.permit()?;
        let dialing = async {
            let dialed = dial(target.clone()).await?;
            if !dialed.is_http2 {
                let sender = handshake_http1(dialed.io, tasks).await?;
                state.lock().is_http1 = true;
                return Ok(FreeConnection::Http1Connection(Http1Connection { sender, _permit: permit }));
            }
            let shared = Http2Connection::start(dialed.io, limits, tasks).await?;
            let mut state = state.lock();
            let slot = shared.slot(limits.max_streams).ok_or("the connection was closed at once")?;
            let found = FreeConnection::Http2Connection(shared.sender(), slot);
            state.shared.push(shared);
            state.is_http1 = false;
            Ok::<_, BoxError>(found)
        };
        let dialed = match connect_timeout {
            Some(connect_timeout) => {
                timeout(*connect_timeout, dialing).await.unwrap_or_else(|_| Err("it takes too long".into()))
            }
            None => dialing.await,
        };
        dialed.map_err(|error| Unsent(crate::call::chain(&*error)))
    }

    /// Takes a permit for one more connection.
    fn permit(&self) -> Result<ConnectionPermit, Unsent> {
        let Inner { limits, state, http1_count, .. } = &*self.0;
        let mut state = state.lock();
        let open = state.shared.len() + http1_count.load(Ordering::Relaxed);
        // An idle connection that is not ready is closed to make way.
        if open >= limits.max_connections && state.idle.pop().is_none() {
            let most = limits.max_connections;
            return Err(Unsent(format!("all {most} connections are in use, allow more or watch less")));
        }
        http1_count.fetch_add(1, Ordering::Relaxed);
        Ok(ConnectionPermit(http1_count.clone()))
    }

    fn release(&self, single: Http1Connection) {
        let mut state = self.0.state.lock();
        if state.idle.len() < self.0.limits.max_idle {
            state.idle.push(single);
        }
    }
}

impl Service<Request<Body>> for Pool {
    type Response = Response<ResponseBody>;
    type Error = BoxError;
    type Future = BoxFuture<'static, Result<Response<ResponseBody>, BoxError>>;

    fn poll_ready(&mut self, _: &mut Context<'_>) -> Poll<Result<(), BoxError>> {
        Poll::Ready(Ok(()))
    }

    fn call(&mut self, request: Request<Body>) -> Self::Future {
        Box::pin(self.clone().send(request))
    }
}

/// Converts a request to HTTP/1.1: a path, and the server in the `Host` header.
fn origin_form(request: &mut Request<Body>) {
    let Some(authority) = request.uri().authority() else { return };
    // Credentials in the URL must not appear in a header.
    let host = authority.as_str().rsplit('@').next().unwrap_or_default();
    if let Ok(host) = HeaderValue::from_str(host) {
        request.headers_mut().entry(header::HOST).or_insert(host);
    }
    let path = request.uri().path_and_query().cloned().unwrap_or(PathAndQuery::from_static("/"));
    *request.uri_mut() = Uri::from(path);
}

/// The stream or connection of an incomplete response body.
pub(super) enum BodySlot {
    Http2Connection(StreamSlot),
    Http1Connection(Pool, Http1Connection),
}

impl BodySlot {
    /// Releases it: the body is complete.
    pub(super) fn release(self) {
        match self {
            Self::Http2Connection(slot) => drop(slot),
            Self::Http1Connection(pool, single) => pool.release(single),
        }
    }
}

impl Drop for ConnectionPermit {
    fn drop(&mut self) {
        self.0.fetch_sub(1, Ordering::Relaxed);
    }
}
