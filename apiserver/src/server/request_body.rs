//! Reads the body of a request, after authentication and authorization.

use std::error::Error;

use bytes::{Bytes, BytesMut};
use http::HeaderMap;
use http::header::{CONTENT_LENGTH, EXPECT};
use http_body_util::BodyExt as _;
use http_body_util::combinators::UnsyncBoxBody;
use tokio::time::timeout;

use super::Shared;
use crate::flowcontrol::{FairPool, Flow, PoolShare};
use crate::metrics::Event;
use crate::refusal::Refusal;

/// A body that is still to be read.
pub(crate) struct RequestBody(UnsyncBoxBody<Bytes, Box<dyn Error + Send + Sync>>);

/// A complete body and its share of the limit on buffered bytes.
pub(crate) struct ReceivedBody<'a> {
    pub(crate) bytes: Bytes,
    _place: Option<PoolShare<&'a FairPool>>,
}

impl RequestBody {
    pub(crate) fn new<B>(body: B) -> Self
    where
        B: http_body::Body<Data = Bytes> + Send + 'static,
        B::Error: Into<Box<dyn Error + Send + Sync>>,
    {
        Self(body.map_err(Into::into).boxed_unsync())
    }

    /// Reads the whole body.
    ///
    /// # Errors
    /// The body is too long, late or incomplete, or the limit on all buffered bodies is reached.
    pub(crate) async fn read<'a>(
        self,
        shared: &'a Shared,
        headers: &HeaderMap,
        flow: Flow,
    ) -> Result<ReceivedBody<'a>, Refusal> {
        if content_length(headers) > shared.limits.body_bytes {
            return Err(too_large(shared.limits.body_bytes));
        }
        let received = timeout(shared.limits.body, self.collect(shared, flow)).await;
        received.unwrap_or_else(|_| {
            shared.metrics.counted.add(Event::LateBody);
            let seconds = shared.limits.body.as_secs_f64();
            let message = format!("the body of the request did not come within {seconds} seconds");
            Err(Refusal::new(408, "Timeout", message))
        })
    }

    /// Discards the body, so that the connection stays usable. Leaves a body that is too long for
    /// that, or that the client sends only on request: the connection is closed after the response.
    pub(crate) async fn discard(mut self, shared: &Shared, headers: &HeaderMap) {
        if content_length(headers) > shared.limits.body_bytes || expects_continue(headers) {
            return;
        }
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

    async fn collect(mut self, shared: &Shared, flow: Flow) -> Result<ReceivedBody<'_>, Refusal> {
        let limit = shared.limits.body_bytes;
        let (mut first, mut all) = (Bytes::new(), BytesMut::new());
        let mut place: Option<PoolShare<&FairPool>> = None;
        while let Some(frame) = self.0.frame().await {
            let frame = frame.map_err(|error| {
                Refusal::bad_request(format!("the body of the request ended early: {error}"))
            })?;
            let Ok(data) = frame.into_data() else { continue };
            // By received bytes: an announced body that never arrives takes no share.
            let taken = match &mut place {
                Some(place) => shared.capacity.more_bytes(place, data.len()),
                None => shared.capacity.bytes(flow, data.len()).map(|share| place = Some(share)),
            };
            taken.inspect_err(|_| shared.metrics.counted.add(Event::TooManyRequests))?;
            if first.len() + all.len() + data.len() > limit {
                return Err(too_large(limit));
            }
            if first.is_empty() && all.is_empty() {
                first = data;
            } else {
                // Most bodies are a single frame, which is not copied.
                all.extend_from_slice(&std::mem::take(&mut first));
                all.extend_from_slice(&data);
            }
        }
        let bytes = if all.is_empty() { first } else { all.freeze() };
        Ok(ReceivedBody { bytes, _place: place })
    }
}

/// Returns whether the client waits for `100 Continue` before it sends the body.
fn expects_continue(headers: &HeaderMap) -> bool {
    headers.get(EXPECT).is_some_and(|expect| expect.as_bytes().eq_ignore_ascii_case(b"100-continue"))
}

fn content_length(headers: &HeaderMap) -> usize {
    let length = headers.get(CONTENT_LENGTH).and_then(|length| length.to_str().ok()?.parse().ok());
    length.unwrap_or_default()
}

fn too_large(limit: usize) -> Refusal {
    let message = format!("Request entity too large: limit is {limit}");
    Refusal::new(413, "RequestEntityTooLarge", message)
}
