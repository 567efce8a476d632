//! Limits the bytes read from a client at a time, so that the first requests of a burst are
//! answered before the last ones are in memory. Otherwise a connection would keep the memory of the
//! whole burst for its lifetime.

use std::future::{Future, poll_fn};
use std::io;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll, ready};

use machinery_sync::Mutex;
use tokio::io::{AsyncRead, AsyncReadExt as _, AsyncWrite, ReadBuf, Take};

/// About ten HTTP/2 requests without bodies.
const LEAST: u64 = 1 << 10;
/// The budget grows up to this while a client sends one large request.
const MOST: u64 = 64 << 10;

/// The number of bytes to read from a connection before its streams are polled.
pub(super) struct ReadBudget(Mutex<State>);

struct State {
    left: u64,
    /// The current budget.
    bytes: u64,
    /// Whether a request was received within it.
    requests: bool,
}

impl ReadBudget {
    pub(super) fn new() -> Arc<Self> {
        Arc::new(Self(Mutex::new(State { left: LEAST, bytes: LEAST, requests: false })))
    }

    /// Polls the work of a connection, with a new budget each time.
    pub(super) async fn poll_within<F: Future>(&self, mut work: Pin<&mut F>) -> F::Output {
        poll_fn(|cx| {
            self.next();
            work.as_mut().poll(cx)
        })
        .await
    }

    /// Renews the budget. It grows if the last one was used up without completing a request.
    fn next(&self) {
        let mut state = self.0.lock();
        let grows = state.left == 0 && !state.requests;
        state.bytes = if grows { MOST.min(2 * state.bytes) } else { LEAST };
        (state.left, state.requests) = (state.bytes, false);
    }

    /// Records a received request.
    pub(super) fn request(&self) {
        self.0.lock().requests = true;
    }
}

/// A stream that reads within the budget.
pub(super) struct BudgetedStream<S> {
    stream: Take<S>,
    budget: Arc<ReadBudget>,
}

impl<S: AsyncRead> BudgetedStream<S> {
    pub(super) fn new(stream: S, budget: Arc<ReadBudget>) -> Self {
        Self { stream: stream.take(0), budget }
    }
}

impl<S: AsyncRead + Unpin> AsyncRead for BudgetedStream<S> {
    fn poll_read(
        self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        buffer: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        let Self { stream, budget } = self.get_mut();
        let mut state = budget.0.lock();
        if state.left == 0 {
            // The socket may still be readable, and would not wake the task.
            cx.waker().wake_by_ref();
            return Poll::Pending;
        }
        stream.set_limit(state.left);
        ready!(Pin::new(&mut *stream).poll_read(cx, buffer))?;
        state.left = stream.limit();
        Poll::Ready(Ok(()))
    }
}

impl<S: AsyncRead + Unpin> BudgetedStream<S> {
    fn stream(self: Pin<&mut Self>) -> Pin<&mut S> {
        Pin::new(self.get_mut().stream.get_mut())
    }
}

impl<S: AsyncRead + AsyncWrite + Unpin> AsyncWrite for BudgetedStream<S> {
    fn poll_write(self: Pin<&mut Self>, cx: &mut Context<'_>, bytes: &[u8]) -> Poll<io::Result<usize>> {
        self.stream().poll_write(cx, bytes)
    }

    fn poll_write_vectored(
        self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        slices: &[io::IoSlice<'_>],
    ) -> Poll<io::Result<usize>> {
        self.stream().poll_write_vectored(cx, slices)
    }

    fn poll_flush(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        self.stream().poll_flush(cx)
    }

    fn poll_shutdown(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        self.stream().poll_shutdown(cx)
    }

    fn is_write_vectored(&self) -> bool {
        self.stream.get_ref().is_write_vectored()
    }
}
