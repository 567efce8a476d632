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

use super::pace::Open;
use super::until::Alarm;
use crate::http::Body;
use crate::metrics::Event;
use crate::server::{Limits, Shared};

tokio::task_local! {
    /// The current stream.
    static STREAM: Arc<Taken>;
}

/// The part of a response that was produced but not yet written to the socket.
struct Taken(Mutex<State>);

struct State {
    parts: usize,
    /// Time of the last progress.
    since: Instant,
    is_watch: bool,
}

impl Taken {
    fn new() -> Arc<Self> {
        Arc::new(Self(Mutex::new(State { parts: 0, since: Instant::now(), is_watch: false })))
    }

    fn due(&self, limits: &Limits) -> Option<(Instant, Event)> {
        let state = self.0.lock();
        let (stall, late) = limits.stall(state.is_watch);
        (state.parts > 0).then(|| (state.since + stall, late))
    }

    fn begins(&self) {
        let mut state = self.0.lock();
        if state.parts == 0 {
            state.since = Instant::now();
        }
        state.parts += 1;
    }

    fn moves(&self) {
        self.0.lock().since = Instant::now();
    }

    fn ends(&self) {
        self.0.lock().parts -= 1;
    }
}

/// Executor for the streams of a connection, which resets stalled ones.
#[derive(Clone)]
pub(super) struct Streams {
    pub(super) shared: Arc<Shared>,
    pub(super) tasks: TaskTracker,
}

impl<F: Future<Output: Send> + Send + 'static> Executor<F> for Streams {
    fn execute(&self, work: F) {
        let shared = self.shared.clone();
        self.tasks.spawn(Stream { work, shared, taken: Taken::new(), alarm: Alarm::default() });
    }
}

pin_project! {
    /// A stream's task. Not an `async` block, which would store the work twice; there may be 100
    /// 000 streams.
    struct Stream<F> {
        #[pin]
        work: F,
        shared: Arc<Shared>,
        taken: Arc<Taken>,
        alarm: Alarm,
    }
}

impl<F: Future> Future for Stream<F> {
    type Output = ();

    fn poll(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<()> {
        let this = self.project();
        let (shared, taken) = (this.shared, this.taken);
        if STREAM.sync_scope(taken.clone(), || this.work.poll(cx)).is_ready() {
            return Poll::Ready(());
        }
        let late = ready!(this.alarm.poll(|| taken.due(&shared.limits), cx));
        // Dropping the stream resets it; other streams of the connection continue.
        shared.metrics.counted.add(late);
        Poll::Ready(())
    }
}

/// The body of a response on a socket.
pub(super) struct Sent {
    body: Body,
    /// `None` for HTTP/1.1.
    taken: Option<Arc<Taken>>,
    _open: Open,
}

impl Sent {
    /// Must be called in the task of the stream.
    pub(super) fn new(body: Body, mut open: Open) -> Self {
        let taken = STREAM.try_with(Arc::clone).ok();
        if body.is_watch() {
            open.is_watch();
            taken.iter().for_each(|taken| taken.0.lock().is_watch = true);
        }
        Self { body, taken, _open: open }
    }
}

impl http_body::Body for Sent {
    type Data = Part;
    type Error = std::convert::Infallible;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Part>, Self::Error>>> {
        let polled = Pin::new(&mut self.body).poll_frame(cx);
        polled.map_ok(|frame| frame.map_data(|bytes| Part::new(bytes, self.taken.clone())))
    }

    fn is_end_stream(&self) -> bool {
        self.body.is_end_stream()
    }

    fn size_hint(&self) -> SizeHint {
        self.body.size_hint()
    }
}

/// A chunk of a response on its way to the socket.
pub(super) struct Part {
    bytes: Bytes,
    taken: Option<Arc<Taken>>,
}

impl Part {
    fn new(bytes: Bytes, taken: Option<Arc<Taken>>) -> Self {
        taken.iter().for_each(|taken| taken.begins());
        Self { bytes, taken }
    }
}

impl Buf for Part {
    fn remaining(&self) -> usize {
        self.bytes.remaining()
    }

    fn chunk(&self) -> &[u8] {
        &self.bytes
    }

    fn advance(&mut self, count: usize) {
        self.bytes.advance(count);
        self.taken.iter().for_each(|taken| taken.moves());
    }
}

impl Drop for Part {
    fn drop(&mut self) {
        self.taken.iter().for_each(|taken| taken.ends());
    }
}
