//! Timeouts of a connection.

use std::io;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll};

use machinery_sync::Mutex;
use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};
use tokio::time::Instant;

use crate::metrics::Event;
use crate::server::Limits;

/// The activity of one connection.
pub(super) struct Pace(Mutex<State>);

struct State {
    /// Requests without a completely sent response.
    open: usize,
    /// The number of watches among them.
    watches: usize,
    /// Time of the last completed request.
    idle: Instant,
    /// Time when a request head began to arrive.
    head: Option<Instant>,
    /// Time since when the client has not accepted data.
    stalled: Option<Instant>,
    /// Whether HTTP/2 is in use: bytes between requests then need not belong to a head.
    http2: bool,
    /// Whether to close the connection, after an unauthenticated HTTP/2 request.
    unauthenticated: bool,
}

impl Pace {
    /// Starts with the timeout of a request head.
    pub(super) fn new() -> Arc<Self> {
        let (idle, head) = (Instant::now(), Some(Instant::now()));
        let state =
            State { open: 0, watches: 0, idle, head, stalled: None, http2: false, unauthenticated: false };
        Arc::new(Self(Mutex::new(state)))
    }

    /// Restarts the timeout after the TLS handshake, which has its own.
    pub(super) fn handshake_done(&self) {
        self.0.lock().head = Some(Instant::now());
    }

    /// Registers a received request until the result is dropped.
    pub(super) fn begin(self: &Arc<Self>, http2: bool) -> Open {
        let mut state = self.0.lock();
        state.open += 1;
        state.head = None;
        state.http2 |= http2;
        Open { pace: self.clone(), is_watch: false }
    }

    pub(super) fn unauthenticated(&self) {
        self.0.lock().unauthenticated = true;
    }

    /// Returns the next deadline, with its event.
    pub(super) fn due(&self, limits: &Limits) -> Option<(Instant, Event)> {
        let state = self.0.lock();
        if state.unauthenticated {
            return Some((state.idle, Event::UnknownClient));
        }
        let (stall, late) = limits.stall(state.watches > 0);
        let stalled = state.stalled.map(|since| (since + stall, late));
        let waiting = match state.head {
            _ if state.open > 0 => None,
            Some(since) => Some((since + limits.head, Event::LateHead)),
            None => Some((state.idle + limits.idle, Event::Idle)),
        };
        stalled.into_iter().chain(waiting).min_by_key(|(at, _)| *at)
    }

    /// Returns the number of open watches.
    pub(super) fn watches(&self) -> usize {
        self.0.lock().watches
    }

    fn received(&self, bytes: usize) {
        let mut state = self.0.lock();
        if bytes > 0 && state.open == 0 && !state.http2 {
            state.head.get_or_insert_with(Instant::now);
        }
    }

    fn sent(&self, stalls: bool) {
        let mut state = self.0.lock();
        if stalls {
            state.stalled.get_or_insert_with(Instant::now);
        } else {
            state.stalled = None;
        }
    }
}

/// Counts a request in flight until dropped.
pub(super) struct Open {
    pace: Arc<Pace>,
    is_watch: bool,
}

impl Open {
    pub(super) fn is_watch(&mut self) {
        self.is_watch = true;
        self.pace.0.lock().watches += 1;
    }
}

impl Drop for Open {
    fn drop(&mut self) {
        let mut state = self.pace.0.lock();
        state.open -= 1;
        state.watches -= usize::from(self.is_watch);
        state.idle = Instant::now();
    }
}

/// A socket that reports its activity. It is below TLS, since partly sent records are not visible
/// above.
pub(super) struct Paced<S> {
    pub(super) stream: S,
    pub(super) pace: Arc<Pace>,
}

impl<S: AsyncRead + Unpin> AsyncRead for Paced<S> {
    fn poll_read(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        buffer: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        let before = buffer.filled().len();
        let polled = Pin::new(&mut self.stream).poll_read(cx, buffer);
        self.pace.received(buffer.filled().len() - before);
        polled
    }
}

impl<S: AsyncWrite + Unpin> Paced<S> {
    fn sent<T>(&self, polled: Poll<T>) -> Poll<T> {
        self.pace.sent(polled.is_pending());
        polled
    }
}

impl<S: AsyncWrite + Unpin> AsyncWrite for Paced<S> {
    fn poll_write(mut self: Pin<&mut Self>, cx: &mut Context<'_>, bytes: &[u8]) -> Poll<io::Result<usize>> {
        let polled = Pin::new(&mut self.stream).poll_write(cx, bytes);
        self.sent(polled)
    }

    fn poll_write_vectored(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        slices: &[io::IoSlice<'_>],
    ) -> Poll<io::Result<usize>> {
        let polled = Pin::new(&mut self.stream).poll_write_vectored(cx, slices);
        self.sent(polled)
    }

    fn poll_flush(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.stream).poll_flush(cx)
    }

    fn poll_shutdown(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.stream).poll_shutdown(cx)
    }

    fn is_write_vectored(&self) -> bool {
        self.stream.is_write_vectored()
    }
}
