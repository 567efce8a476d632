//! Responses to requests with an unread body announce the end of their connection.

use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll};

use http::header::{CONNECTION, HeaderValue};
use http::{Request, Response, Version};
use http_body::{Body, Frame, SizeHint};
use machinery_sync::atomic::{AtomicBool, Ordering};

/// A request body that records whether it was dropped before its end. See [`track_body`].
pub struct TrackedBody<B: Body> {
    body: B,
    unread: UnreadBody,
    is_at_end: bool,
}

/// Whether a service has dropped the body of an HTTP/1 request before its end.
#[derive(Clone, Debug)]
pub struct UnreadBody(Option<Arc<AtomicBool>>);

/// Tracks the body of an HTTP/1 request.
///
/// A server that responds before it has read the body must close the connection, because the rest
/// of the body precedes the next request. Unless the response has `Connection: close`, a client
/// may send the next request over the connection, and loses it.
///
/// ```
/// # use machinery_apiserver::track_body;
/// # use http::{Request, Response};
/// # use http_body_util::Full;
/// # let request = Request::post("/").body(Full::<bytes::Bytes>::from("too long")).unwrap();
/// let (request, unread) = track_body(request);
/// drop(request); // a refusal, perhaps
/// let response = unread.close_after(Response::new("refused"));
/// assert_eq!(response.headers()["connection"], "close");
/// ```
pub fn track_body<B: Body>(request: Request<B>) -> (Request<TrackedBody<B>>, UnreadBody) {
    // The streams of HTTP/2 end without their connection.
    let tracks = request.version() <= Version::HTTP_11 && !request.body().is_end_stream();
    let unread = UnreadBody(tracks.then(Arc::default));
    let tracked = unread.clone();
    (request.map(|body| TrackedBody { body, unread: tracked, is_at_end: false }), unread)
}

impl UnreadBody {
    /// Adds `Connection: close` to a response if the body was dropped before its end.
    pub fn close_after<R>(&self, response: Response<R>) -> Response<R> {
        let is_unread = self.0.as_ref().is_some_and(|unread| unread.load(Ordering::Acquire));
        if is_unread { close_after(response) } else { response }
    }
}

/// Adds `Connection: close` to a response.
pub(super) fn close_after<R>(mut response: Response<R>) -> Response<R> {
    response.headers_mut().insert(CONNECTION, HeaderValue::from_static("close"));
    response
}

impl<B: Body> Drop for TrackedBody<B> {
    fn drop(&mut self) {
        if let Some(unread) = &self.unread.0
            && !self.is_at_end
            && !self.body.is_end_stream()
        {
            unread.store(true, Ordering::Release);
        }
    }
}

impl<B: Body + Unpin> Body for TrackedBody<B> {
    type Data = B::Data;
    type Error = B::Error;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<B::Data>, B::Error>>> {
        let polled = Pin::new(&mut self.body).poll_frame(cx);
        self.is_at_end |= matches!(polled, Poll::Ready(None));
        polled
    }

    fn is_end_stream(&self) -> bool {
        self.body.is_end_stream()
    }

    fn size_hint(&self) -> SizeHint {
        self.body.size_hint()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use bytes::Bytes;
    use futures::stream;
    use http_body_util::{BodyExt as _, Full, StreamBody};
    use std::convert::Infallible;

    fn closes(unread: &UnreadBody) -> bool {
        unread.close_after(Response::new(())).headers().contains_key(CONNECTION)
    }

    #[tokio::test]
    async fn a_response_closes_the_connection_unless_the_body_was_read() {
        let request = |text: &'static str| Request::new(Full::<Bytes>::from(text));
        let (dropped, unread) = track_body(request("text"));
        assert!(!closes(&unread), "the body may still be read");
        drop(dropped);
        assert!(closes(&unread));

        let (read, unread) = track_body(request("text"));
        assert_eq!(read.into_body().collect().await.expect("all of it").to_bytes(), "text");
        assert!(!closes(&unread));

        let (empty, unread) = track_body(request(""));
        drop(empty);
        assert!(!closes(&unread));

        let mut second = request("text");
        *second.version_mut() = Version::HTTP_2;
        let (dropped, unread) = track_body(second);
        drop(dropped);
        assert!(!closes(&unread), "only the stream ends");
    }

    /// The length of a chunked body is not known until its end.
    #[tokio::test]
    async fn a_streamed_body_counts_as_read_at_its_end() {
        for (frames, expected) in [(1, true), (2, true), (3, false)] {
            let parts = ["a", "b"].map(|part| Ok::<_, Infallible>(Frame::data(Bytes::from(part))));
            let (request, unread) = track_body(Request::new(StreamBody::new(stream::iter(parts))));
            let mut body = request.into_body();
            for _ in 0..frames {
                let _ = body.frame().await;
            }
            drop(body);
            assert_eq!(closes(&unread), expected, "{frames}");
        }
    }
}
