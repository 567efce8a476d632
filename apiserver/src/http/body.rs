//! Response bodies: complete or streamed.

use std::convert::Infallible;
use std::fmt;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll};

use bytes::Bytes;
use futures::Stream;
use futures::stream::BoxStream;
use http_body::{Frame, SizeHint};
use prometheus_client::metrics::counter::Counter;

use crate::audit::Tail;
use crate::flowcontrol::{FairPool, PoolShare};

/// Maximum size of a frame of a long response.
const PART: usize = 64 << 10;

/// The body of a response. Dropping it cancels its producer: a watch or a long list.
pub struct Body {
    pub(super) kind: BodyKind,
    /// Counts the bytes sent.
    sent: Option<Counter>,
    /// A concurrency slot, released with the body.
    _place: Option<PoolShare<Arc<FairPool>>>,
}

pub(super) enum BodyKind {
    Whole(Option<Bytes>),
    Parts(BoxStream<'static, Bytes>),
    Frames(BoxStream<'static, Bytes>),
}

impl Body {
    /// A complete body.
    pub(crate) fn whole(bytes: impl Into<Bytes>) -> Self {
        Self::of(BodyKind::Whole(Some(bytes.into()).filter(|bytes: &Bytes| !bytes.is_empty())))
    }

    /// A document, streamed while it is produced.
    pub(crate) fn parts(parts: impl Stream<Item = Bytes> + Send + 'static) -> Self {
        Self::of(BodyKind::Parts(Box::pin(parts)))
    }

    /// A watch stream; its frames are sent immediately.
    pub(crate) fn frames(frames: impl Stream<Item = Bytes> + Send + 'static) -> Self {
        Self::of(BodyKind::Frames(Box::pin(frames)))
    }

    /// Returns whether the body is a watch stream, which can be idle for a long time.
    pub(crate) const fn is_watch(&self) -> bool {
        matches!(self.kind, BodyKind::Frames(_))
    }

    /// Returns whether the body is a streamed document.
    pub(crate) const fn is_in_parts(&self) -> bool {
        matches!(self.kind, BodyKind::Parts(_))
    }

    /// The bytes of a complete body.
    pub(crate) fn whole_bytes(&self) -> Option<Bytes> {
        match &self.kind {
            BodyKind::Whole(bytes) => Some(bytes.clone().unwrap_or_default()),
            BodyKind::Parts(_) | BodyKind::Frames(_) => None,
        }
    }

    /// Attaches an audit record, which observes the bytes sent and is dropped with the body.
    pub(crate) fn with_tail(self, tail: Tail) -> Self {
        let kind = match self.kind {
            BodyKind::Whole(bytes) => BodyKind::Whole(bytes),
            BodyKind::Parts(parts) => BodyKind::Parts(Box::pin(Tailed { parts, tail: Some(tail) })),
            BodyKind::Frames(parts) => BodyKind::Frames(Box::pin(Tailed { parts, tail: Some(tail) })),
        };
        Self { kind, ..self }
    }

    /// Counts the bytes sent.
    pub(crate) fn counted(self, sent: Counter) -> Self {
        Self { sent: Some(sent), ..self }
    }

    /// Attaches a concurrency slot, released at the end of the body.
    pub(crate) fn holding(self, place: PoolShare<Arc<FairPool>>) -> Self {
        Self { _place: Some(place), ..self }
    }

    /// Replaces the contents.
    pub(super) fn made_of(self, kind: BodyKind) -> Self {
        Self { kind, ..self }
    }

    const fn of(kind: BodyKind) -> Self {
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
            BodyKind::Whole(bytes) => Poll::Ready(part(bytes)),
            BodyKind::Parts(parts) | BodyKind::Frames(parts) => parts.as_mut().poll_next(cx),
        };
        if let (Some(sent), Poll::Ready(Some(bytes))) = (&self.sent, &part) {
            sent.inc_by(bytes.len() as u64);
        }
        part.map(|part| part.map(|bytes| Ok(Frame::data(bytes))))
    }

    fn is_end_stream(&self) -> bool {
        matches!(self.kind, BodyKind::Whole(None))
    }

    fn size_hint(&self) -> SizeHint {
        match &self.kind {
            BodyKind::Whole(bytes) => {
                SizeHint::with_exact(bytes.as_ref().map_or(0, |bytes| bytes.len() as u64))
            }
            BodyKind::Parts(_) | BodyKind::Frames(_) => SizeHint::default(),
        }
    }
}

/// The next frame. Sending in parts makes a client's progress observable.
fn part(left: &mut Option<Bytes>) -> Option<Bytes> {
    match left {
        Some(bytes) if bytes.len() > PART => Some(bytes.split_to(PART)),
        _ => left.take(),
    }
}

/// A stream with an audit record.
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
            BodyKind::Whole(_) => "Body::Whole",
            BodyKind::Parts(_) => "Body::Parts",
            BodyKind::Frames(_) => "Body::Frames",
        })
    }
}
