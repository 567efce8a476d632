//! What an answer is made of: bytes at once, or as they come.

use std::convert::Infallible;
use std::fmt;
use std::pin::Pin;
use std::task::{Context, Poll};

use bytes::Bytes;
use futures::Stream;
use futures::stream::BoxStream;
use http_body::{Frame, SizeHint};
use prometheus_client::metrics::counter::Counter;
use tokio::sync::OwnedSemaphorePermit;

use crate::audit::Tail;

/// A long answer is handed over in parts of so many bytes.
const PART: usize = 64 << 10;

/// The body of an answer. Dropping it ends what makes it: a watch, a long list.
pub struct Body {
    pub(super) kind: Kind,
    /// Of the bytes that were sent.
    sent: Option<Counter>,
    /// A place that is given back with the body.
    _place: Option<OwnedSemaphorePermit>,
}

pub(super) enum Kind {
    Whole(Option<Bytes>),
    Parts(BoxStream<'static, Bytes>),
    Frames(BoxStream<'static, Bytes>),
}

impl Body {
    /// These bytes.
    pub(crate) fn whole(bytes: impl Into<Bytes>) -> Self {
        Self::of(Kind::Whole(Some(bytes.into()).filter(|bytes: &Bytes| !bytes.is_empty())))
    }

    /// One document that is made as it is sent.
    pub(crate) fn parts(parts: impl Stream<Item = Bytes> + Send + 'static) -> Self {
        Self::of(Kind::Parts(Box::pin(parts)))
    }

    /// What is worth sending as soon as it is there.
    pub(crate) fn frames(frames: impl Stream<Item = Bytes> + Send + 'static) -> Self {
        Self::of(Kind::Frames(Box::pin(frames)))
    }

    /// Whether it is a watch: there may be nothing to send for long.
    pub(crate) const fn is_watch(&self) -> bool {
        matches!(self.kind, Kind::Frames(_))
    }

    /// Whether it is made as it is sent.
    pub(crate) const fn is_in_parts(&self) -> bool {
        matches!(self.kind, Kind::Parts(_))
    }

    /// All of it, if it is there at once.
    pub(crate) fn whole_bytes(&self) -> Option<Bytes> {
        match &self.kind {
            Kind::Whole(bytes) => Some(bytes.clone().unwrap_or_default()),
            Kind::Parts(_) | Kind::Frames(_) => None,
        }
    }

    /// The same one; `tail` sees what is sent of it, and is dropped when it ends or is dropped.
    pub(crate) fn with_tail(self, tail: Tail) -> Self {
        let kind = match self.kind {
            Kind::Whole(bytes) => Kind::Whole(bytes),
            Kind::Parts(parts) => Kind::Parts(Box::pin(Tailed { parts, tail: Some(tail) })),
            Kind::Frames(parts) => Kind::Frames(Box::pin(Tailed { parts, tail: Some(tail) })),
        };
        Self { kind, ..self }
    }

    /// The same; what is sent of it is counted.
    pub(crate) fn counted(self, sent: Counter) -> Self {
        Self { sent: Some(sent), ..self }
    }

    /// The same one, with a place that it keeps until it ends or is dropped.
    pub(crate) fn holding(self, place: OwnedSemaphorePermit) -> Self {
        Self { _place: Some(place), ..self }
    }

    /// The same one, of other bytes.
    pub(super) fn made_of(self, kind: Kind) -> Self {
        Self { kind, ..self }
    }

    const fn of(kind: Kind) -> Self {
        Self { kind, sent: None, _place: None }
    }
}

impl http_body::Body for Body {
    type Data = Bytes;
    type Error = Infallible;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, Infallible>>> {
        let part = match &mut self.kind {
            Kind::Whole(bytes) => Poll::Ready(part(bytes)),
            Kind::Parts(parts) | Kind::Frames(parts) => parts.as_mut().poll_next(cx),
        };
        if let (Some(sent), Poll::Ready(Some(bytes))) = (&self.sent, &part) {
            sent.inc_by(bytes.len() as u64);
        }
        part.map(|part| part.map(|bytes| Ok(Frame::data(bytes))))
    }

    fn is_end_stream(&self) -> bool {
        matches!(self.kind, Kind::Whole(None))
    }

    fn size_hint(&self) -> SizeHint {
        match &self.kind {
            Kind::Whole(bytes) => SizeHint::with_exact(bytes.as_ref().map_or(0, |bytes| bytes.len() as u64)),
            Kind::Parts(_) | Kind::Frames(_) => SizeHint::default(),
        }
    }
}

/// The next part. Whoever takes an answer in parts is seen to take it.
fn part(left: &mut Option<Bytes>) -> Option<Bytes> {
    match left {
        Some(bytes) if bytes.len() > PART => Some(bytes.split_to(PART)),
        _ => left.take(),
    }
}

/// An answer whose end is waited for.
struct Tailed {
    parts: BoxStream<'static, Bytes>,
    tail: Option<Tail>,
}

impl Stream for Tailed {
    type Item = Bytes;

    fn poll_next(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Option<Bytes>> {
        let part = self.parts.as_mut().poll_next(cx);
        match (&part, &mut self.tail) {
            (Poll::Ready(Some(bytes)), Some(tail)) => tail.part(bytes),
            (Poll::Ready(None), tail) => {
                if let Some(mut tail) = tail.take() {
                    tail.ended();
                }
            }
            _ => {}
        }
        part
    }
}

impl fmt::Debug for Body {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match &self.kind {
            Kind::Whole(_) => "Body::Whole",
            Kind::Parts(_) => "Body::Parts",
            Kind::Frames(_) => "Body::Frames",
        })
    }
}
