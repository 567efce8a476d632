//! Connections to one pod, at most as many as the limit at a time.

use std::net::SocketAddr;
use std::sync::Arc;

use http::Request;
use http_body_util::{BodyExt as _, Full, LengthLimitError, Limited};
use hyper::body::Bytes;
use hyper::client::conn::http1::{self, SendRequest};
use hyper_util::rt::TokioIo;
use machinery::sync::Mutex;
use machinery::tokio::net::TcpStream;
use machinery::tokio::sync::Semaphore;
use machinery::tokio::task::JoinHandle;
use machinery::tokio::time::{Instant, timeout, timeout_at};
use machinery::tokio_util::task::TaskTracker;
use rustls::ClientConfig;
use rustls::pki_types::ServerName;
use tokio_rustls::TlsConnector;

use super::error::RestError;
use super::limits::RestLimits;

/// An answer of a CNF, read completely.
#[derive(Clone, Debug)]
pub(super) struct RawAnswer {
    pub(super) head: http::response::Parts,
    pub(super) body: Bytes,
}

/// The connections to one address. They are closed when this is dropped.
pub(super) struct PodConnections {
    address: SocketAddr,
    name: ServerName<'static>,
    tls: Arc<ClientConfig>,
    limits: RestLimits,
    places: Semaphore,
    tasks: TaskTracker,
    idle: Mutex<Vec<(Instant, OpenConnection)>>,
}

struct OpenConnection {
    sender: SendRequest<Full<Bytes>>,
    _task: TaskOfConnection,
}

/// The task that drives a connection, which ends with it.
struct TaskOfConnection(JoinHandle<()>);

impl Drop for TaskOfConnection {
    fn drop(&mut self) {
        self.0.abort();
    }
}

impl PodConnections {
    pub(super) fn new(
        address: SocketAddr,
        name: ServerName<'static>,
        tls: Arc<ClientConfig>,
        limits: RestLimits,
    ) -> Self {
        let places = Semaphore::new(limits.connections.clamp(1, Semaphore::MAX_PERMITS));
        Self { address, name, tls, limits, places, tasks: TaskTracker::new(), idle: Mutex::default() }
    }

    /// Sends a request and reads its answer. A request that was certainly not sent, because an idle
    /// connection had been closed, is sent on another connection.
    pub(super) async fn send(&self, request: &Request<Full<Bytes>>) -> Result<RawAnswer, RestError> {
        let limit = self.limits.call;
        let deadline = Instant::now() + limit;
        let late = |_| RestError::Timeout(limit);
        let sent = async {
            let _place = self.places.acquire().await;
            while let Some(idle) = self.take_idle() {
                match self.exchange(idle, request.clone()).await {
                    Err(Unanswered::NotSent) => {}
                    Err(Unanswered::Failed(error)) => return Err(error),
                    Ok(answer) => return Ok(answer),
                }
            }
            let opened = self.open().await?;
            self.exchange(opened, request.clone()).await.map_err(|unanswered| match unanswered {
                Unanswered::Failed(error) => error,
                Unanswered::NotSent => RestError::Transport("the connection was closed at once".into()),
            })
        };
        timeout_at(deadline, sent).await.map_err(late)?
    }

    fn take_idle(&self) -> Option<OpenConnection> {
        let mut idle = self.idle.lock();
        let now = Instant::now();
        idle.retain(|(since, one)| !one.sender.is_closed() && now.duration_since(*since) < self.limits.idle);
        idle.pop().map(|(_, one)| one)
    }

    async fn open(&self) -> Result<OpenConnection, RestError> {
        let limit = self.limits.connect;
        let opened = async {
            let stream = TcpStream::connect(self.address).await;
            let stream = stream.map_err(|error| RestError::Transport(error.to_string()))?;
            let _ = stream.set_nodelay(true);
            let tls = TlsConnector::from(self.tls.clone()).connect(self.name.clone(), stream).await;
            let tls = tls.map_err(|error| {
                let certificate = error.get_ref().and_then(|inner| inner.downcast_ref::<rustls::Error>());
                match certificate {
                    Some(rustls::Error::InvalidCertificate(why)) => RestError::Certificate(why.to_string()),
                    _ => RestError::Transport(format!("no TLS: {error}")),
                }
            })?;
            let handshake = http1::handshake(TokioIo::new(tls)).await;
            let (sender, connection) = handshake.map_err(|error| RestError::Transport(error.to_string()))?;
            let task = TaskOfConnection(self.tasks.spawn(async move { drop(connection.await) }));
            Ok(OpenConnection { sender, _task: task })
        };
        timeout(limit, opened).await.map_err(|_| RestError::Timeout(limit))?
    }

    async fn exchange(
        &self,
        mut connection: OpenConnection,
        request: Request<Full<Bytes>>,
    ) -> Result<RawAnswer, Unanswered> {
        let ready = connection.sender.ready().await;
        ready.map_err(|_| Unanswered::NotSent)?;
        let answered = connection.sender.try_send_request(request).await;
        let answered = answered.map_err(|mut error| match error.take_message() {
            Some(_) => Unanswered::NotSent,
            None => Unanswered::Failed(RestError::Transport(error.into_error().to_string())),
        })?;
        let (head, body) = answered.into_parts();
        let most = self.limits.answer_bytes;
        let body = Limited::new(body, most).collect().await.map_err(|error| {
            Unanswered::Failed(match error.downcast_ref::<LengthLimitError>() {
                Some(_) => RestError::TooLarge(most),
                None => RestError::Transport(format!("the answer ended early: {error}")),
            })
        })?;
        let answer = RawAnswer { head, body: body.to_bytes() };
        if !connection.sender.is_closed() {
            let mut idle = self.idle.lock();
            if idle.len() < self.limits.connections {
                idle.push((Instant::now(), connection));
            }
        }
        Ok(answer)
    }
}

/// A request without an answer.
enum Unanswered {
    /// It was certainly not sent.
    NotSent,
    Failed(RestError),
}
