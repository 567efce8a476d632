//! The connections to one server.

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

use super::answer::Answer;
use super::client::Connections;
use super::connection::{Place, Shared, single};
use super::dial::{BoxError, Dial};

/// A request did not get away: it changed nothing.
#[derive(Debug, thiserror::Error)]
#[error("no connection: {0}")]
pub(crate) struct Unsent(String);

/// How often a request is sent again that a connection gave back unsent.
const ATTEMPTS: usize = 8;

/// The connections to one server. Cheap to clone; when the last is dropped, each connection ends with the last answer
/// on it.
#[derive(Clone)]
pub(super) struct Pool(Arc<Inner>);

struct Inner {
    dial: Dial,
    target: Uri,
    patience: Option<Duration>,
    limits: Connections,
    tasks: TaskTracker,
    state: Mutex<State>,
    /// Connections of HTTP/1.1, used, idle or being made.
    singles: Arc<AtomicUsize>,
    /// Held by who makes a connection that others may share.
    dialing: Arc<tokio::sync::Mutex<()>>,
}

#[derive(Default)]
struct State {
    shared: Vec<Shared>,
    idle: Vec<Single>,
    /// Whether the server speaks no HTTP/2, as far as is known.
    is_single: bool,
    /// How often no connection could be made, and why the last time.
    failures: u64,
    failure: String,
}

/// A connection with room for a request.
enum Found {
    Shared(http2::SendRequest<Body>, Place),
    Single(Single),
}

/// A connection of HTTP/1.1 without a request on it, or with one. It is closed when this is dropped.
pub(super) struct Single {
    sender: http1::SendRequest<Body>,
    _counted: Counted,
}

/// One of the connections of HTTP/1.1, from before it is made on.
struct Counted(Arc<AtomicUsize>);

impl Pool {
    pub(super) fn new(dial: Dial, target: Uri, patience: Option<Duration>, limits: Connections) -> Self {
        let (tasks, state) = (TaskTracker::new(), Mutex::default());
        let (singles, dialing) = (Arc::default(), Arc::default());
        Self(Arc::new(Inner { dial, target, patience, limits, tasks, state, singles, dialing }))
    }

    async fn send(self, mut request: Request<Body>) -> Result<Response<Answer>, BoxError> {
        let mut reason = String::new();
        for _ in 0..ATTEMPTS {
            let mut refused = match self.connection().await? {
                Found::Shared(mut sender, place) => match sender.try_send_request(request).await {
                    Ok(response) => return Ok(response.map(|body| Answer::new(body, Held::Shared(place)))),
                    Err(refused) => refused,
                },
                Found::Single(mut single) => {
                    origin_form(&mut request);
                    match single.sender.try_send_request(request).await {
                        Ok(response) => {
                            let held = Held::Single(self.clone(), single);
                            return Ok(response.map(|body| Answer::new(body, held)));
                        }
                        Err(refused) => refused,
                    }
                }
            };
            // The connection ended before the request was on it, or the outcome is open.
            let Some(unsent) = refused.take_message() else { return Err(refused.into_error().into()) };
            (request, reason) = (unsent, crate::call::chain(refused.error()));
        }
        Err(Unsent(format!("the server closes each before it is used: {reason}")).into())
    }

    async fn connection(&self) -> Result<Found, Unsent> {
        if let Some(found) = self.free() {
            return Ok(found);
        }
        let (is_single, failures) = {
            let state = self.0.state.lock();
            (state.is_single, state.failures)
        };
        // What others may share is made once, and they wait for it, and fail with it.
        let turn = if is_single { None } else { Some(self.0.dialing.clone().lock_owned().await) };
        if let Some(found) = self.free() {
            return Ok(found);
        }
        if !is_single && self.0.state.lock().failures != failures {
            return Err(Unsent(self.0.state.lock().failure.clone()));
        }
        // Who asks may go away meanwhile, and others wait for the same.
        let (tell, dialed) = oneshot::channel();
        let pool = self.clone();
        self.0.tasks.spawn(async move {
            let dialed = pool.dialed().await;
            if let Err(Unsent(reason)) = &dialed {
                let mut state = pool.0.state.lock();
                (state.failures, state.failure) = (state.failures + 1, reason.clone());
            }
            drop(turn);
            if let Err(Ok(Found::Single(unused))) = tell.send(dialed) {
                pool.give_back(unused);
            }
        });
        dialed.await.unwrap_or_else(|_| Err(Unsent("the program is being stopped".into())))
    }

    /// One that is there.
    fn free(&self) -> Option<Found> {
        let mut state = self.0.state.lock();
        state.shared.retain(|connection| !connection.is_closed());
        state.idle.retain(|single| !single.sender.is_closed());
        let most = self.0.limits.streams;
        let shared = state
            .shared
            .iter()
            .find_map(|connection| Some(Found::Shared(connection.sender(), connection.place(most)?)));
        shared.or_else(|| {
            let at = state.idle.iter().rposition(|single| single.sender.is_ready())?;
            Some(Found::Single(state.idle.swap_remove(at)))
        })
    }

    async fn dialed(&self) -> Result<Found, Unsent> {
        let Inner { dial, target, patience, limits, tasks, state, .. } = &*self.0;
        let counted = self.counted()?;
        let dialing = async {
            let dialed = dial(target.clone()).await?;
            if !dialed.is_http2 {
                let sender = single(dialed.io, tasks).await?;
                state.lock().is_single = true;
                return Ok(Found::Single(Single { sender, _counted: counted }));
            }
            let shared = Shared::start(dialed.io, limits, tasks).await?;
            let mut state = state.lock();
            let place = shared.place(limits.streams).ok_or("the connection was closed at once")?;
            let found = Found::Shared(shared.sender(), place);
            state.shared.push(shared);
            state.is_single = false;
            Ok::<_, BoxError>(found)
        };
        let dialed = match patience {
            Some(patience) => {
                timeout(*patience, dialing).await.unwrap_or_else(|_| Err("it takes too long".into()))
            }
            None => dialing.await,
        };
        dialed.map_err(|error| Unsent(crate::call::chain(&*error)))
    }

    /// Leave to make one more.
    fn counted(&self) -> Result<Counted, Unsent> {
        let Inner { limits, state, singles, .. } = &*self.0;
        let mut state = state.lock();
        let there = state.shared.len() + singles.load(Ordering::Relaxed);
        // What is idle and not ready yet makes room.
        if there >= limits.most && state.idle.pop().is_none() {
            let most = limits.most;
            return Err(Unsent(format!("all {most} connections are in use, allow more or watch less")));
        }
        singles.fetch_add(1, Ordering::Relaxed);
        Ok(Counted(singles.clone()))
    }

    fn give_back(&self, single: Single) {
        let mut state = self.0.state.lock();
        if state.idle.len() < self.0.limits.idle {
            state.idle.push(single);
        }
    }
}

impl Service<Request<Body>> for Pool {
    type Response = Response<Answer>;
    type Error = BoxError;
    type Future = BoxFuture<'static, Result<Response<Answer>, BoxError>>;

    fn poll_ready(&mut self, _: &mut Context<'_>) -> Poll<Result<(), BoxError>> {
        Poll::Ready(Ok(()))
    }

    fn call(&mut self, request: Request<Body>) -> Self::Future {
        Box::pin(self.clone().send(request))
    }
}

/// A request as HTTP/1.1 has it: a path, and the server in a header.
fn origin_form(request: &mut Request<Body>) {
    let Some(authority) = request.uri().authority() else { return };
    let host = authority.as_str().rsplit('@').next().unwrap_or_default();
    if let Ok(host) = HeaderValue::from_str(host) {
        request.headers_mut().entry(header::HOST).or_insert(host);
    }
    let path = request.uri().path_and_query().cloned().unwrap_or(PathAndQuery::from_static("/"));
    *request.uri_mut() = Uri::from(path);
}

/// The place of an answer that is still coming.
pub(super) enum Held {
    Shared(Place),
    Single(Pool, Single),
}

impl Held {
    /// All has come.
    pub(super) fn give_back(self) {
        match self {
            Self::Shared(place) => drop(place),
            Self::Single(pool, single) => pool.give_back(single),
        }
    }
}

impl Drop for Counted {
    fn drop(&mut self) {
        self.0.fetch_sub(1, Ordering::Relaxed);
    }
}
