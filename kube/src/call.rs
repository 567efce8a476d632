//! Sends a request and reads its response.

use std::error::Error;
use std::sync::Arc;
use std::time::Duration;

use bytes::Bytes;
use http::{HeaderMap, Response};
use http_body_util::BodyExt as _;
use kube_client::Client;
use kube_client::client::Body;
use machinery_objects::{Kind, SourceError, WriteError};
use tokio::time::timeout;

use crate::ServerProfile;
use crate::connect::Unsent;
use crate::refusal::Refusal;
use crate::request::ApiRequest;
use crate::text::excerpt;

/// Maximum bytes that are read of an error response.
const REFUSAL_BYTES: usize = 1 << 20;

/// The client side of requests: client, kind, server profile and field manager.
pub(crate) struct Caller {
    pub(crate) client: Client,
    pub(crate) kind: Kind,
    pub(crate) server: ServerProfile,
    /// The field manager of writes.
    pub(crate) manager: Option<Arc<str>>,
}

/// The reason for which there is no response.
#[derive(Debug)]
pub(crate) enum CallError {
    /// The request was not sent.
    Unsent(String),
    /// The request may have been received.
    Lost(String),
    /// The request may have been received, and the response did not arrive in time.
    TimedOut,
    /// The response is longer than this limit.
    TooLong(usize),
}

impl Caller {
    /// Returns the complete body, or the refusal of the server.
    pub(crate) async fn fetch(&self, request: ApiRequest) -> Result<Result<Bytes, Refusal>, CallError> {
        Ok(self.exchange(request).await?.map(|(_, body)| body))
    }

    /// Returns the headers and the complete body, or the refusal of the server.
    pub(crate) async fn exchange(
        &self,
        request: ApiRequest,
    ) -> Result<Result<(HeaderMap, Bytes), Refusal>, CallError> {
        let exchange = async {
            match self.send(request).await? {
                Ok(response) => {
                    let (head, body) = response.into_parts();
                    Ok(Ok((head.headers, collect(body, self.server.answer_bytes).await?)))
                }
                Err(refusal) => Ok(Err(refusal)),
            }
        };
        within(self.server.response_timeout, exchange).await
    }

    /// Returns the body once the response has started, or the refusal of the server.
    pub(crate) async fn open(&self, request: ApiRequest) -> Result<Result<Body, Refusal>, CallError> {
        let exchange = async { Ok(self.send(request).await?.map(Response::into_body)) };
        within(self.server.response_timeout, exchange).await
    }

    async fn send(&self, request: ApiRequest) -> Result<Result<Response<Body>, Refusal>, CallError> {
        let response = self.client.send(request.map(Body::from)).await.map_err(CallError::of)?;
        if response.status().is_success() {
            return Ok(Ok(response));
        }
        let (head, body) = response.into_parts();
        // Without a body, the status says enough.
        let body = collect(body, REFUSAL_BYTES).await.unwrap_or_default();
        Ok(Err(Refusal::of_answer(head.status, &head.headers, &body)))
    }
}

async fn within<T>(
    response_timeout: Duration,
    work: impl Future<Output = Result<T, CallError>>,
) -> Result<T, CallError> {
    timeout(response_timeout, work).await.unwrap_or(Err(CallError::TimedOut))
}

async fn collect(mut body: Body, limit: usize) -> Result<Bytes, CallError> {
    let (mut first, mut all) = (Bytes::new(), Vec::new());
    while let Some(frame) = body.frame().await {
        let Ok(data) = frame.map_err(CallError::of)?.into_data() else { continue };
        if first.len().max(all.len()).saturating_add(data.len()) > limit {
            return Err(CallError::TooLong(limit));
        }
        // A body in one piece is not copied.
        if first.is_empty() && all.is_empty() {
            first = data;
        } else {
            all.extend_from_slice(&std::mem::take(&mut first));
            all.extend_from_slice(&data);
        }
    }
    Ok(if all.is_empty() { first } else { all.into() })
}

impl CallError {
    fn of(error: kube_client::Error) -> Self {
        let reason = chain(&error);
        if is_unsent(&error) { Self::Unsent(reason) } else { Self::Lost(reason) }
    }

    pub(crate) fn source_error(self) -> SourceError {
        match self {
            Self::Unsent(reason) | Self::Lost(reason) => {
                SourceError::Unavailable { reason, retry_after: None }
            }
            Self::TimedOut => SourceError::TimedOut,
            Self::TooLong(limit) => SourceError::Malformed {
                reason: format!("the answer is longer than {limit} bytes, ask for pages"),
            },
        }
    }

    pub(crate) fn write_error(self) -> WriteError {
        let reason = match self {
            Self::Unsent(_) => return self.source_error().into(),
            Self::Lost(reason) => reason,
            Self::TimedOut => "no answer came in time".into(),
            Self::TooLong(limit) => format!("the answer is longer than {limit} bytes"),
        };
        WriteError::UnknownOutcome { reason }
    }
}

/// Returns whether nothing was sent, for lack of a connection or of credentials.
fn is_unsent(error: &kube_client::Error) -> bool {
    // Credentials are fetched before the request is sent.
    if matches!(error, kube_client::Error::Auth(_)) {
        return true;
    }
    causes(error).any(|cause| {
        // Other clients of kube have hyper-util's pool instead of ours.
        let legacy = cause.downcast_ref::<hyper_util::client::legacy::Error>();
        cause.is::<Unsent>() || legacy.is_some_and(hyper_util::client::legacy::Error::is_connect)
    })
}

/// Returns the messages of an error and its sources, shortened and without repetitions.
pub(crate) fn chain(error: &(dyn Error + 'static)) -> String {
    let mut message = String::new();
    for cause in causes(error) {
        let text = cause.to_string();
        if !message.contains(&text) {
            if !message.is_empty() {
                message.push_str(": ");
            }
            message.push_str(&text);
        }
    }
    excerpt(&message)
}

fn causes<'a>(error: &'a (dyn Error + 'static)) -> impl Iterator<Item = &'a (dyn Error + 'static)> {
    std::iter::successors(Some(error), |&cause| cause.source())
}
