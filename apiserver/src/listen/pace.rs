//! Timeouts of a connection.

use std::io;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll, ready};
use std::time::Duration;

use machinery_sync::Mutex;
use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};
use tokio::time::{Instant, Sleep, sleep_until};

use super::client::{ClientState, ConnectionClient};
use super::expiry::Expiry;
use crate::auth::Identity;
use crate::metrics::Event;
use crate::server::Limits;

/// Age from which the end of a watch is not counted as a cancelled request.
const SERVED_WATCH: Duration = Duration::from_secs(1);

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
    client: ConnectionClient,
    /// Time until which nothing is read from the client.
    paused: Option<Instant>,
    /// Whether the connection has ended: its requests end with it.
    ended: bool,
}

impl Pace {
    /// Starts with the timeout of a request head. It includes the TLS handshake.
    pub(super) fn new(client: ConnectionClient) -> Arc<Self> {
        let (idle, head) = (Instant::now(), Some(Instant::now()));
        Arc::new(Self(Mutex::new(State {
            open: 0,
            watches: 0,
            idle,
            head,
            stalled: None,
            http2: false,
            unauthenticated: false,
            client,
            paused: None,
            ended: false,
        })))
    }

    /// Records that a request, or the certificate, has authenticated the client.
    pub(super) fn authenticated(&self, identity: Arc<Identity>) {
        let mut state = self.0.lock();
        state.client.authenticated(identity);
        // The timeout of an unauthenticated connection ends here.
        if state.open == 0 {
            state.head = Some(Instant::now());
        }
    }

    /// Registers the expiry of the client's certificate.
    pub(super) fn expires(&self, expiry: Expiry) {
        self.0.lock().client.expiry = Some(expiry);
    }

    /// Registers a received request until the result is dropped. Also returns the state of the
    /// client's authentication.
    pub(super) fn begin(self: &Arc<Self>, http2: bool) -> (Open, ClientState) {
        let mut state = self.0.lock();
        state.open += 1;
        state.head = None;
        state.http2 |= http2;
        (Open { pace: self.clone(), watches_since: None, is_complete: !http2 }, state.client.state())
    }

    pub(super) fn unauthenticated(&self) {
        self.0.lock().unauthenticated = true;
    }

    /// Returns the next deadline, with its event.
    pub(super) fn due(&self, limits: &Limits) -> Option<(Instant, Event)> {
        let mut state = self.0.lock();
        let expires = state.client.expiry.as_mut().map(|expiry| (expiry.due(), Event::ExpiredCertificate));
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
        stalled.into_iter().chain(waiting).chain(expires).min_by_key(|(at, _)| *at)
    }

    /// Returns the end of the pause, if reading is paused.
    fn paused(&self) -> Option<Instant> {
        self.0.lock().paused
    }

    /// Records the end of the connection.
    pub(super) fn ended(&self) {
        self.0.lock().ended = true;
    }

    fn resume(&self) {
        self.0.lock().paused = None;
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
    /// The start of a watch.
    watches_since: Option<Instant>,
    /// False for a request of HTTP/2 until its response is complete: the client may cancel it.
    is_complete: bool,
}

impl Open {
    pub(super) fn is_watch(&mut self) {
        self.watches_since = Some(Instant::now());
        self.pace.0.lock().watches += 1;
    }

    /// Records that the response was produced to its end.
    pub(super) fn complete(&mut self) {
        self.is_complete = true;
    }
}

impl Drop for Open {
    fn drop(&mut self) {
        let mut state = self.pace.0.lock();
        state.open -= 1;
        state.watches -= usize::from(self.watches_since.is_some());
        state.idle = Instant::now();
        // HTTP/2 has no other end of a watch than its cancellation.
        let served = self.watches_since.is_some_and(|since| state.idle - since >= SERVED_WATCH);
        if !self.is_complete && !served && !state.ended {
            state.paused = state.client.cancelled(state.idle).or(state.paused);
        }
    }
}

/// A socket that reports its activity. It is below TLS, since partly sent records are not visible
/// above.
pub(super) struct Paced<S> {
    stream: S,
    pace: Arc<Pace>,
    resumes: Option<Pin<Box<Sleep>>>,
}

impl<S> Paced<S> {
    pub(super) const fn new(stream: S, pace: Arc<Pace>) -> Self {
        Self { stream, pace, resumes: None }
    }

    /// Waits for the end of a pause.
    fn poll_pause(&mut self, cx: &mut Context<'_>) -> Poll<()> {
        while let Some(until) = self.pace.paused() {
            let sleep = self.resumes.get_or_insert_with(|| Box::pin(sleep_until(until)));
            if sleep.deadline() != until {
                sleep.as_mut().reset(until);
            }
            ready!(sleep.as_mut().poll(cx));
            // A cancellation may have prolonged it meanwhile.
            if self.pace.paused() == Some(until) {
                self.pace.resume();
            }
        }
        self.resumes = None;
        Poll::Ready(())
    }
}

impl<S: AsyncRead + Unpin> AsyncRead for Paced<S> {
    fn poll_read(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        buffer: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        ready!(self.poll_pause(cx));
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
