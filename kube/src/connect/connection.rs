//! Connections of the pool, over HTTP/2 and HTTP/1.1.

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

/// Flow-control window of a stream, in bytes.
const STREAM_WINDOW: u32 = 512 << 10;
/// Longest interval between two polls of the server's settings.
const LONGEST_PAUSE: Duration = Duration::from_millis(20);
/// Maximum flow-control window of a connection in HTTP/2.
const MAX_WINDOW: u64 = (1 << 31) - 1;

/// An HTTP/2 connection, shared by many requests.
#[derive(Clone)]
pub(super) struct Http2Connection {
    sender: http2::SendRequest<Body>,
    /// Number of requests on it.
    pub(super) used: Arc<AtomicUsize>,
    /// The server's limit of concurrent streams.
    stream_limit: watch::Receiver<usize>,
}

impl Http2Connection {
    /// Performs the handshake, and waits for the server's stream limit.
    pub(super) async fn start(
        io: Box<dyn Io>,
        limits: &Connections,
        tasks: &TaskTracker,
    ) -> Result<Self, BoxError> {
        // The connection window holds all streams' windows, so that an unread stream blocks no
        // other.
        let streams = u64::try_from(limits.max_streams).unwrap_or(MAX_WINDOW);
        let window = streams.saturating_mul(STREAM_WINDOW.into()).clamp(STREAM_WINDOW.into(), MAX_WINDOW);
        let (sender, connection) = http2::Builder::new(TaskExecutor(tasks.clone()))
            .timer(TokioTimer::new())
            .initial_stream_window_size(STREAM_WINDOW)
            .initial_connection_window_size(u32::try_from(window).unwrap_or(STREAM_WINDOW))
            // No stream, until the server's settings arrive.
            .initial_max_send_streams(0)
            .keep_alive_interval(limits.ping_after)
            .keep_alive_timeout(limits.ping_timeout)
            .handshake(io)
            .await?;
        let (report, mut stream_limit) = watch::channel(0);
        tasks.spawn(run(connection, report));
        stream_limit
            .wait_for(|streams| *streams > 0)
            .await
            .map_err(|_| "the connection was closed before it could be used")?;
        Ok(Self { sender, used: Arc::default(), stream_limit })
    }

    pub(super) fn is_closed(&self) -> bool {
        self.sender.is_closed()
    }

    /// Returns a slot for one more request, if there is one. Only called by the pool, under its
    /// lock.
    pub(super) fn slot(&self, most: usize) -> Option<StreamSlot> {
        // At least one: with none, each request would open a connection and then fail.
        let most = most.min(*self.stream_limit.borrow()).max(1);
        if self.is_closed() || self.used.load(Ordering::Relaxed) >= most {
            return None;
        }
        // Relaxed: the pool's lock orders the increments, and a late decrement only costs a slot.
        self.used.fetch_add(1, Ordering::Relaxed);
        Some(StreamSlot(self.used.clone()))
    }

    pub(super) fn sender(&self) -> http2::SendRequest<Body> {
        self.sender.clone()
    }
}

/// A stream of a connection. Released when dropped.
pub(super) struct StreamSlot(Arc<AtomicUsize>);

impl Drop for StreamSlot {
    fn drop(&mut self) {
        self.0.fetch_sub(1, Ordering::Relaxed);
    }
}

/// Drives an HTTP/2 connection, and reports its stream limit. hyper does not notify of new
/// settings, so they are polled until known, and with each request from then on.
async fn run(
    mut connection: http2::Connection<Box<dyn Io>, Body, TaskExecutor>,
    report: watch::Sender<usize>,
) {
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
        report.send_if_modified(|stream_limit| std::mem::replace(stream_limit, streams) != streams);
        done.map(drop) // each request on it has its own error
    })
    .await;
}

/// Performs the handshake of an HTTP/1.1 connection, which carries one request at a time.
pub(super) async fn handshake_http1(
    io: Box<dyn Io>,
    tasks: &TaskTracker,
) -> Result<http1::SendRequest<Body>, BoxError> {
    let (sender, connection) = http1::handshake(io).await?;
    tasks.spawn(async move { drop(connection.await) }); // the request on it has its own error
    Ok(sender)
}

/// Spawns the background tasks of connections.
#[derive(Clone)]
struct TaskExecutor(TaskTracker);

impl<F: Future<Output = ()> + Send + 'static> Executor<F> for TaskExecutor {
    fn execute(&self, task: F) {
        self.0.spawn(task);
    }
}
