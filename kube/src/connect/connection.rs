//! One connection, as the pool sees it.

use std::future::poll_fn;
use std::pin::Pin;
use std::sync::Arc;
use std::time::Duration;

use hyper::client::conn::{http1, http2};
use hyper::rt::Executor;
use hyper_util::rt::TokioTimer;
use kube_client::client::Body;
use machinery_sync::atomic::{AtomicUsize, Ordering};
use tokio::sync::watch;
use tokio::time::sleep;
use tokio_util::task::TaskTracker;

use super::client::Connections;
use super::dial::{BoxError, Io};

/// Bytes that a server may send on one stream before they are read.
const STREAM_WINDOW: u32 = 512 << 10;
/// Between two looks at what the server has said.
const LONGEST_PAUSE: Duration = Duration::from_millis(20);
/// The most that HTTP/2 allows for a connection.
const MAX_WINDOW: u64 = (1 << 31) - 1;

/// A connection of HTTP/2, on which many requests are at the same time.
#[derive(Clone)]
pub(super) struct Shared {
    sender: http2::SendRequest<Body>,
    /// Requests on it.
    pub(super) used: Arc<AtomicUsize>,
    /// How many its server takes.
    told: watch::Receiver<usize>,
}

impl Shared {
    /// Begins to speak, and waits for the server to say how many requests it takes at a time.
    pub(super) async fn start(
        io: Box<dyn Io>,
        limits: &Connections,
        tasks: &TaskTracker,
    ) -> Result<Self, BoxError> {
        // All streams together fill the window of the connection, and no fewer: one that is not read holds up no other.
        let streams = u64::try_from(limits.streams).unwrap_or(MAX_WINDOW);
        let window = streams.saturating_mul(STREAM_WINDOW.into()).clamp(STREAM_WINDOW.into(), MAX_WINDOW);
        let (sender, connection) = http2::Builder::new(Tasks(tasks.clone()))
            .timer(TokioTimer::new())
            .initial_stream_window_size(STREAM_WINDOW)
            .initial_connection_window_size(u32::try_from(window).unwrap_or(STREAM_WINDOW))
            // None, until the server has said it.
            .initial_max_send_streams(0)
            .keep_alive_interval(limits.ping_after)
            .keep_alive_timeout(limits.ping_timeout)
            .handshake(io)
            .await?;
        let (tell, mut told) = watch::channel(0);
        tasks.spawn(run(connection, tell));
        told.wait_for(|streams| *streams > 0)
            .await
            .map_err(|_| "the connection was closed before it could be used")?;
        Ok(Self { sender, used: Arc::default(), told })
    }

    pub(super) fn is_closed(&self) -> bool {
        self.sender.is_closed()
    }

    /// A place for one more request, if there is one. Only the pool asks, under its lock.
    pub(super) fn place(&self, most: usize) -> Option<Place> {
        let most = most.min(*self.told.borrow()).max(1);
        if self.is_closed() || self.used.load(Ordering::Relaxed) >= most {
            return None;
        }
        self.used.fetch_add(1, Ordering::Relaxed);
        Some(Place(self.used.clone()))
    }

    pub(super) fn sender(&self) -> http2::SendRequest<Body> {
        self.sender.clone()
    }
}

/// A request among those of a connection. It is given back when this is dropped.
pub(super) struct Place(Arc<AtomicUsize>);

impl Drop for Place {
    fn drop(&mut self) {
        self.0.fetch_sub(1, Ordering::Relaxed);
    }
}

/// The connection of HTTP/2 itself, and what its server says of streams. Of that nobody is woken, so it is looked at often
/// until it is known, and with each request from then on.
async fn run(mut connection: http2::Connection<Box<dyn Io>, Body, Tasks>, tell: watch::Sender<usize>) {
    let mut pause = Duration::from_micros(250);
    while connection.current_max_send_streams() == 0 {
        tokio::select! {
            biased;
            _ = &mut connection => return,
            () = sleep(pause) => pause = (pause * 2).min(LONGEST_PAUSE),
        }
    }
    poll_fn(|cx| {
        let done = Pin::new(&mut connection).poll(cx);
        let streams = connection.current_max_send_streams();
        tell.send_if_modified(|told| std::mem::replace(told, streams) != streams);
        done.map(drop) // each request on it has its own error
    })
    .await;
}

/// A connection of HTTP/1.1, on which there is one request.
pub(super) async fn single(
    io: Box<dyn Io>,
    tasks: &TaskTracker,
) -> Result<http1::SendRequest<Body>, BoxError> {
    let (sender, connection) = http1::handshake(io).await?;
    tasks.spawn(async move { drop(connection.await) }); // the request on it has its own error
    Ok(sender)
}

/// What connections do beside being read and written.
#[derive(Clone)]
struct Tasks(TaskTracker);

impl<F: Future<Output = ()> + Send + 'static> Executor<F> for Tasks {
    fn execute(&self, task: F) {
        self.0.spawn(task);
    }
}
