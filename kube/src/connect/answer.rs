//! The body of an answer, which holds its place on a connection until it is over.

use std::pin::Pin;
use std::task::{Context, Poll, ready};

use bytes::Bytes;
use http_body::{Body, Frame, SizeHint};
use hyper::body::Incoming;

use super::pool::Held;

/// What a server sends.
pub(super) struct Answer {
    body: Incoming,
    /// Until all has come.
    held: Option<Held>,
}

impl Answer {
    pub(super) fn new(body: Incoming, held: Held) -> Self {
        let mut answer = Self { body, held: Some(held) };
        if answer.body.is_end_stream() {
            answer.done();
        }
        answer
    }

    /// All has come, so the connection can be used for something else.
    fn done(&mut self) {
        if let Some(held) = self.held.take() {
            held.give_back();
        }
    }
}

impl Body for Answer {
    type Data = Bytes;
    type Error = hyper::Error;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, hyper::Error>>> {
        let frame = ready!(Pin::new(&mut self.body).poll_frame(cx));
        match &frame {
            None => self.done(),
            Some(Err(_)) => self.held = None,
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
