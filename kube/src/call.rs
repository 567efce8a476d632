//! A request, and its answer.

use std::error::Error;
use std::sync::Arc;
use std::time::Duration;

use bytes::Bytes;
use http::Response;
use http_body_util::BodyExt as _;
use kube_client::Client;
use kube_client::client::Body;
use machinery_objects::{Kind, SourceError, WriteError};
use tokio::time::timeout;

use crate::Server;
use crate::connect::Unsent;
use crate::refusal::Refusal;
use crate::request::Asked;
use crate::text::excerpt;

/// Bytes that are read of an answer that is none.
const REFUSAL_BYTES: usize = 1 << 20;

/// Who asks.
pub(crate) struct Caller {
    pub(crate) client: Client,
    pub(crate) kind: Kind,
    pub(crate) server: Server,
    /// Under which name it writes.
    pub(crate) manager: Option<Arc<str>>,
}

/// Why there is no answer.
#[derive(Debug)]
pub(crate) enum Failed {
    /// The request did not get away.
    Unsent(String),
    /// It may have come there.
    Lost(String),
    /// The same, and it takes too long.
    TimedOut,
    /// It came there, and what is answered is longer than this.
    TooLong(usize),
}

impl Caller {
    /// The whole answer, or what the server says instead.
    pub(crate) async fn answer(&self, request: Asked) -> Result<Result<Bytes, Refusal>, Failed> {
        let exchange = async {
            match self.send(request).await? {
                Ok(response) => Ok(Ok(collect(response.into_body(), self.server.answer_bytes).await?)),
                Err(refusal) => Ok(Err(refusal)),
            }
        };
        within(self.server.patience, exchange).await
    }

    /// The beginning of an answer, or what the server says instead.
    pub(crate) async fn begin(&self, request: Asked) -> Result<Result<Body, Refusal>, Failed> {
        let exchange = async { Ok(self.send(request).await?.map(Response::into_body)) };
        within(self.server.patience, exchange).await
    }

    async fn send(&self, request: Asked) -> Result<Result<Response<Body>, Refusal>, Failed> {
        let response = self.client.send(request.map(Body::from)).await.map_err(Failed::of)?;
        if response.status().is_success() {
            return Ok(Ok(response));
        }
        let (head, body) = response.into_parts();
        let body = match collect(body, REFUSAL_BYTES).await {
            Ok(body) => body,
            Err(_) => Bytes::new(), // the status says enough
        };
        Ok(Err(Refusal::of_answer(head.status, &head.headers, &body)))
    }
}

async fn within<T>(patience: Duration, work: impl Future<Output = Result<T, Failed>>) -> Result<T, Failed> {
    timeout(patience, work).await.unwrap_or(Err(Failed::TimedOut))
}

async fn collect(mut body: Body, limit: usize) -> Result<Bytes, Failed> {
    let (mut first, mut all) = (Bytes::new(), Vec::new());
    while let Some(frame) = body.frame().await {
        let Ok(data) = frame.map_err(Failed::of)?.into_data() else { continue };
        if first.len().max(all.len()).saturating_add(data.len()) > limit {
            return Err(Failed::TooLong(limit));
        }
        // What comes in one piece is not copied.
        if first.is_empty() && all.is_empty() {
            first = data;
        } else {
            all.extend_from_slice(&std::mem::take(&mut first));
            all.extend_from_slice(&data);
        }
    }
    Ok(if all.is_empty() { first } else { all.into() })
}

impl Failed {
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

/// Whether an error says that nothing was sent: no connection, or no credentials.
fn is_unsent(error: &kube_client::Error) -> bool {
    if matches!(error, kube_client::Error::Auth(_)) {
        return true;
    }
    causes(error).any(|cause| {
        let legacy = cause.downcast_ref::<hyper_util::client::legacy::Error>();
        cause.is::<Unsent>() || legacy.is_some_and(hyper_util::client::legacy::Error::is_connect)
    })
}

/// What an error says, and what is behind it, each once.
pub(crate) fn chain(error: &(dyn Error + 'static)) -> String {
    let mut said = String::new();
    for cause in causes(error) {
        let text = cause.to_string();
        if !said.contains(&text) {
            if !said.is_empty() {
                said.push_str(": ");
            }
            said.push_str(&text);
        }
    }
    excerpt(&said)
}

fn causes<'a>(error: &'a (dyn Error + 'static)) -> impl Iterator<Item = &'a (dyn Error + 'static)> {
    std::iter::successors(Some(error), |&cause| cause.source())
}
