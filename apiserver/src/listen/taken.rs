//! Whether a client of HTTP/2 takes what it is sent. Its streams have windows of their own: the socket does not show it.

use std::future::Future;
use std::pin::{Pin, pin};
use std::sync::Arc;
use std::task::{Context, Poll};

use bytes::Bytes;
use http_body::{Frame, SizeHint};
use hyper::rt::Executor;
use machinery_sync::Mutex;
use tokio::time::Instant;
use tokio_util::task::TaskTracker;

use super::pace::Open;
use super::until::until;
use crate::http::Body;
use crate::metrics::Event;
use crate::server::Shared;

tokio::task_local! {
    /// Of the stream whose task this is.
    static STREAM: Arc<Taken>;
}

/// Since when a part of an answer was handed over and no other one asked for.
#[derive(Default)]
struct Taken(Mutex<Option<Instant>>);

/// Runs the streams of a connection, each as long as its client takes what it is sent.
#[derive(Clone)]
pub(super) struct Streams {
    pub(super) shared: Arc<Shared>,
    pub(super) tasks: TaskTracker,
}

impl<F: Future<Output: Send> + Send + 'static> Executor<F> for Streams {
    fn execute(&self, stream: F) {
        let (shared, taken) = (self.shared.clone(), Arc::new(Taken::default()));
        let since = taken.clone();
        let stall = shared.limits.stall;
        self.tasks.spawn(STREAM.scope(taken, async move {
            let due = || Some(((*since.0.lock())? + stall, Event::SlowReader));
            // Dropping the stream resets it: the others of the connection go on.
            if let Err(event) = until(pin!(stream), due).await {
                shared.metrics.counted.add(event);
            }
        }));
    }
}

/// The body of an answer on a socket.
pub(super) struct Sent {
    body: Body,
    taken: Option<Arc<Taken>>,
    _open: Open,
}

impl Sent {
    /// To be made where the answer is: in the task of its stream.
    pub(super) fn new(body: Body, open: Open) -> Self {
        Self { body, taken: STREAM.try_with(Arc::clone).ok(), _open: open }
    }
}

impl http_body::Body for Sent {
    type Data = Bytes;
    type Error = std::convert::Infallible;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, Self::Error>>> {
        let polled = Pin::new(&mut self.body).poll_frame(cx);
        if let Some(taken) = &self.taken {
            *taken.0.lock() = polled.is_ready().then(Instant::now);
        }
        polled
    }

    fn is_end_stream(&self) -> bool {
        self.body.is_end_stream()
    }

    fn size_hint(&self) -> SizeHint {
        self.body.size_hint()
    }
}

impl Drop for Sent {
    fn drop(&mut self) {
        if let Some(taken) = &self.taken {
            *taken.0.lock() = None;
        }
    }
}
