//! Detects stalled HTTP/2 streams. Each has its own flow-control window, so the socket does not
//! show a stall.

use std::future::Future;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll, ready};

use bytes::{Buf, Bytes};
use http_body::{Frame, SizeHint};
use hyper::rt::Executor;
use machinery_sync::Mutex;
use pin_project_lite::pin_project;
use tokio::time::Instant;
use tokio_util::task::TaskTracker;

use super::deadline::Alarm;
use super::pace::Open;
use crate::http::Body;
use crate::metrics::Event;
use crate::server::{Limits, Shared};

tokio::task_local! {
    /// The current stream.
    static STREAM: Arc<SendProgress>;
}

/// The part of a response that was produced but not yet written to the socket.
struct SendProgress(Mutex<State>);

struct State {
    parts: usize,
    /// Time of the last progress.
    since: Instant,
    is_watch: bool,
}

impl SendProgress {
    fn new() -> Arc<Self> {
        Arc::new(Self(Mutex::new(State { parts: 0, since: Instant::now(), is_watch: false })))
    }

    fn due(&self, limits: &Limits) -> Option<(Instant, Event)> {
        let state = self.0.lock();
        let (stall, late) = limits.stall(state.is_watch);
        (state.parts > 0).then(|| (state.since + stall, late))
    }

    fn chunk_added(&self) {
        let mut state = self.0.lock();
        if state.parts == 0 {
            state.since = Instant::now();
        }
        state.parts += 1;
    }

    fn chunk_advanced(&self) {
        self.0.lock().since = Instant::now();
    }

    fn chunk_dropped(&self) {
        self.0.lock().parts -= 1;
    }
}

/// Executor for the streams of a connection, which resets stalled ones.
#[derive(Clone)]
pub(super) struct StreamExecutor {
    pub(super) shared: Arc<Shared>,
    pub(super) tasks: TaskTracker,
}

impl<F: Future<Output: Send> + Send + 'static> Executor<F> for StreamExecutor {
    fn execute(&self, work: F) {
        let shared = self.shared.clone();
        self.tasks.spawn(Http2Stream {
            work,
            shared,
            progress: SendProgress::new(),
            alarm: Alarm::default(),
        });
    }
}

pin_project! {
    /// A stream's task. Not an `async` block, which would store the work twice; there may be 100
    /// 000 streams.
    struct Http2Stream<F> {
        #[pin]
        work: F,
        shared: Arc<Shared>,
        progress: Arc<SendProgress>,
        alarm: Alarm,
    }
}

impl<F: Future> Future for Http2Stream<F> {
    type Output = ();

    fn poll(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<()> {
        let this = self.project();
        let (shared, progress) = (this.shared, this.progress);
        if STREAM.sync_scope(progress.clone(), || this.work.poll(cx)).is_ready() {
            return Poll::Ready(());
        }
        let late = ready!(this.alarm.poll(|| progress.due(&shared.limits), cx));
        // Dropping the stream resets it; other streams of the connection continue.
        shared.metrics.counted.add(late);
        Poll::Ready(())
    }
}

/// The body of a response on a socket.
pub(super) struct SocketBody {
    body: Body,
    /// `None` for HTTP/1.1.
    progress: Option<Arc<SendProgress>>,
    open: Open,
}

impl SocketBody {
    /// Must be called in the task of the stream.
    pub(super) fn new(body: Body, mut open: Open) -> Self {
        let progress = STREAM.try_with(Arc::clone).ok();
        if http_body::Body::is_end_stream(&body) {
            open.complete();
        }
        if body.is_watch() {
            open.is_watch();
            progress.iter().for_each(|progress| progress.0.lock().is_watch = true);
        }
        Self { body, progress, open }
    }
}

impl http_body::Body for SocketBody {
    type Data = SendChunk;
    type Error = std::convert::Infallible;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<SendChunk>, Self::Error>>> {
        let polled = Pin::new(&mut self.body).poll_frame(cx);
        if http_body::Body::is_end_stream(&self.body) || matches!(polled, Poll::Ready(None)) {
            self.open.complete();
        }
        polled.map_ok(|frame| frame.map_data(|bytes| SendChunk::new(bytes, self.progress.clone())))
    }

    fn is_end_stream(&self) -> bool {
        self.body.is_end_stream()
    }

    fn size_hint(&self) -> SizeHint {
        self.body.size_hint()
    }
}

/// A chunk of a response on its way to the socket.
pub(super) struct SendChunk {
    bytes: Bytes,
    progress: Option<Arc<SendProgress>>,
}

impl SendChunk {
    fn new(bytes: Bytes, progress: Option<Arc<SendProgress>>) -> Self {
        progress.iter().for_each(|progress| progress.chunk_added());
        Self { bytes, progress }
    }
}

impl Buf for SendChunk {
    fn remaining(&self) -> usize {
        self.bytes.remaining()
    }

    fn chunk(&self) -> &[u8] {
        &self.bytes
    }

    fn advance(&mut self, count: usize) {
        self.bytes.advance(count);
        self.progress.iter().for_each(|progress| progress.chunk_advanced());
    }
}

impl Drop for SendChunk {
    fn drop(&mut self) {
        self.progress.iter().for_each(|progress| progress.chunk_dropped());
    }
}
