//! The body of a response, which occupies its stream or connection until it is complete.

use std::pin::Pin;
use std::task::{Context, Poll, ready};

use bytes::Bytes;
use http_body::{Body, Frame, SizeHint};
use hyper::body::Incoming;

use super::pool::BodySlot;

/// A response body.
pub(super) struct ResponseBody {
    body: Incoming,
    /// The occupied slot, until the body is complete.
    slot: Option<BodySlot>,
}

impl ResponseBody {
    pub(super) fn new(body: Incoming, slot: BodySlot) -> Self {
        let mut answer = Self { body, slot: Some(slot) };
        // An empty body may never be polled.
        if answer.body.is_end_stream() {
            answer.done();
        }
        answer
    }

    /// Releases the slot: the body is complete.
    fn done(&mut self) {
        if let Some(slot) = self.slot.take() {
            slot.release();
        }
    }
}

impl Body for ResponseBody {
    type Data = Bytes;
    type Error = hyper::Error;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, hyper::Error>>> {
        let frame = ready!(Pin::new(&mut self.body).poll_frame(cx));
        match &frame {
            None => self.done(),
            // Dropped, not released: after an error an HTTP/1.1 connection cannot be used again.
            Some(Err(_)) => self.slot = None,
            Some(Ok(_)) if self.body.is_end_stream() => self.done(),
            Some(Ok(_)) => {}
        }
        Poll::Ready(frame)
    }

    fn is_end_stream(&self) -> bool {
        self.body.is_end_stream()
    }

    fn size_hint(&self) -> SizeHint {
        self.body.size_hint()
    }
}
