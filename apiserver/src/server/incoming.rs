//! The body of a request as it comes. It is read when it is known who sends it, and that they may.

use std::error::Error;

use bytes::{Bytes, BytesMut};
use http::HeaderMap;
use http::header::CONTENT_LENGTH;
use http_body_util::BodyExt as _;
use http_body_util::combinators::UnsyncBoxBody;
use tokio::sync::SemaphorePermit;
use tokio::time::timeout;

use super::Shared;
use crate::metrics::Event;
use crate::refusal::Refusal;

/// A body that was not read yet.
pub(crate) struct Incoming(UnsyncBoxBody<Bytes, Box<dyn Error + Send + Sync>>);

/// A body, and the place that it takes.
pub(crate) struct Received<'a> {
    pub(crate) bytes: Bytes,
    _place: Option<SemaphorePermit<'a>>,
}

impl Incoming {
    pub(crate) fn new<B>(body: B) -> Self
    where
        B: http_body::Body<Data = Bytes> + Send + 'static,
        B::Error: Into<Box<dyn Error + Send + Sync>>,
    {
        Self(body.map_err(Into::into).boxed_unsync())
    }

    /// All of it.
    ///
    /// # Errors
    /// It is longer than it may be, did not come in time, or ended early; or all bodies together are too much.
    pub(crate) async fn read<'a>(
        self,
        shared: &'a Shared,
        headers: &HeaderMap,
    ) -> Result<Received<'a>, Refusal> {
        if announced(headers) > shared.limits.body_bytes {
            return Err(too_large(shared.limits.body_bytes));
        }
        let received = timeout(shared.limits.body, self.collect(shared)).await;
        received.unwrap_or_else(|_| {
            shared.metrics.counted.add(Event::LateBody);
            let seconds = shared.limits.body.as_secs_f64();
            let message = format!("the body of the request did not come within {seconds} seconds");
            Err(Refusal::new(408, "Timeout", message))
        })
    }

    /// Lets go of it as it comes, that whoever sends it reads why it was not wanted, and the connection can go on.
    pub(crate) async fn pass_over(mut self, shared: &Shared) {
        let all = async {
            let mut length = 0;
            while let Some(Ok(frame)) = self.0.frame().await {
                length += frame.data_ref().map_or(0, Bytes::len);
                if length > shared.limits.body_bytes {
                    return;
                }
            }
        };
        if timeout(shared.limits.body, all).await.is_err() {
            shared.metrics.counted.add(Event::LateBody);
        }
    }

    async fn collect(mut self, shared: &Shared) -> Result<Received<'_>, Refusal> {
        let limit = shared.limits.body_bytes;
        let (mut first, mut all) = (Bytes::new(), BytesMut::new());
        let mut place: Option<SemaphorePermit<'_>> = None;
        while let Some(frame) = self.0.frame().await {
            let frame = frame.map_err(|error| {
                Refusal::bad_request(format!("the body of the request ended early: {error}"))
            })?;
            let Ok(data) = frame.into_data() else { continue };
            let more = shared.places.bytes(data.len()).inspect_err(|_| {
                shared.metrics.counted.add(Event::TooManyRequests);
            })?;
            match &mut place {
                Some(place) => place.merge(more),
                None => place = Some(more),
            }
            if first.len() + all.len() + data.len() > limit {
                return Err(too_large(limit));
            }
            if first.is_empty() && all.is_empty() {
                first = data;
            } else {
                // The first part alone is most often all: it is not copied before there is a second one.
                all.extend_from_slice(&std::mem::take(&mut first));
                all.extend_from_slice(&data);
            }
        }
        let bytes = if all.is_empty() { first } else { all.freeze() };
        Ok(Received { bytes, _place: place })
    }
}

fn announced(headers: &HeaderMap) -> usize {
    let length = headers.get(CONTENT_LENGTH).and_then(|length| length.to_str().ok()?.parse().ok());
    length.unwrap_or_default()
}

fn too_large(limit: usize) -> Refusal {
    let message = format!("Request entity too large: limit is {limit}");
    Refusal::new(413, "RequestEntityTooLarge", message)
}
