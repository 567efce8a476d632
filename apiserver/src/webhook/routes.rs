//! The paths of a webhook server: reviews, health and metrics.

use std::sync::Arc;

use bytes::Bytes;
use http::header::{CONTENT_TYPE, HeaderValue, RETRY_AFTER};
use http::{Method, Request, Response, StatusCode};
use http_body_util::{BodyExt as _, Full, LengthLimitError, Limited};
use jiff::Timestamp;
use serde_json::Value;
use tokio::sync::Semaphore;
use tokio::time::{Instant, timeout};
use tokio_util::sync::CancellationToken;

use super::hooks::{ReviewPhase, RunnableHooks};
use super::limits::WebhookLimits;
use super::metrics::WebhookMetrics;
use super::{ReviewError, review};
use crate::metrics::CONTENT_TYPE as METRICS;

/// The parts of a server that answer requests.
pub(super) struct Routes {
    pub(super) hooks: RunnableHooks,
    pub(super) limits: WebhookLimits,
    pub(super) metrics: WebhookMetrics,
    pub(super) places: Arc<Semaphore>,
    pub(super) stopping: CancellationToken,
}

/// A request without an answer: its status, a reason for metrics, and a text.
struct Unanswered {
    status: StatusCode,
    reason: &'static str,
    text: String,
}

impl Routes {
    /// Answers a request. `is_known` is whether the client has shown a certificate, if it must.
    pub(super) async fn answer<B>(&self, request: Request<B>, is_known: bool) -> Response<Full<Bytes>>
    where
        B: http_body::Body<Data = Bytes> + Send,
        B::Error: Into<Box<dyn std::error::Error + Send + Sync>>,
    {
        let is_get = matches!(*request.method(), Method::GET | Method::HEAD);
        let phase = match request.uri().path() {
            "/mutate" => ReviewPhase::Mutate,
            "/validate" => ReviewPhase::Validate,
            "/livez" | "/healthz" if is_get => return text(StatusCode::OK, "ok\n".into()),
            "/readyz" if is_get && self.stopping.is_cancelled() => {
                return text(StatusCode::SERVICE_UNAVAILABLE, "stopping\n".into());
            }
            "/readyz" if is_get => return text(StatusCode::OK, "ok\n".into()),
            "/metrics" if is_get => return of_type(METRICS, text(StatusCode::OK, self.metrics.page())),
            _ => {
                let paths = "the paths are /mutate, /validate, /livez, /readyz and /metrics";
                return self.unanswered(&unanswered(StatusCode::NOT_FOUND, "path", paths));
            }
        };
        match self.review(phase, request, is_known).await {
            Ok(answer) => {
                let bytes = serde_json::to_vec(&answer).unwrap_or_default();
                of_type("application/json", Response::new(Full::from(bytes)))
            }
            Err(why) => self.unanswered(&why),
        }
    }

    async fn review<B>(
        &self,
        phase: ReviewPhase,
        request: Request<B>,
        is_known: bool,
    ) -> Result<Value, Unanswered>
    where
        B: http_body::Body<Data = Bytes> + Send,
        B::Error: Into<Box<dyn std::error::Error + Send + Sync>>,
    {
        let limits = &self.limits;
        if !is_known {
            let why = "reviews need a client certificate: configure it by --admission-control-config-file";
            return Err(unanswered(StatusCode::UNAUTHORIZED, "unauthenticated", why));
        }
        if request.method() != Method::POST {
            return Err(unanswered(StatusCode::METHOD_NOT_ALLOWED, "method", "send a review by POST"));
        }
        let Ok(Ok(_place)) = timeout(limits.review, self.places.acquire()).await else {
            let why = format!("{} reviews are in progress: try again", limits.reviews);
            return Err(unanswered(StatusCode::SERVICE_UNAVAILABLE, "busy", why));
        };
        let _held = self.metrics.raise_in_flight();
        let body =
            timeout(limits.receive, Limited::new(request.into_body(), limits.body_bytes).collect()).await;
        let late = |_| unanswered(StatusCode::REQUEST_TIMEOUT, "late", "the review was not received in time");
        let bytes = body.map_err(late)?.map_err(|error| match error.is::<LengthLimitError>() {
            true => {
                let why = format!("the review is longer than {} bytes", limits.body_bytes);
                unanswered(StatusCode::PAYLOAD_TOO_LARGE, "too_long", why)
            }
            false => unanswered(
                StatusCode::BAD_REQUEST,
                "incomplete",
                format!("the review is incomplete: {error}"),
            ),
        })?;
        let malformed =
            |error: ReviewError| unanswered(StatusCode::BAD_REQUEST, "malformed", error.to_string());
        let bytes = bytes.to_bytes();
        if review::has_more_values(&bytes, limits.values) {
            return Err(malformed(ReviewError::TooManyValues { limit: limits.values }));
        }
        let read = |error: serde_json::Error| malformed(ReviewError::Json { reason: error.to_string() });
        let review = serde_json::from_slice(&bytes).map_err(read)?;
        let began = Instant::now();
        let answered = timeout(limits.review, self.hooks.review(phase, &review, Timestamp::now())).await;
        let slow = |_| unanswered(StatusCode::GATEWAY_TIMEOUT, "slow", "the hooks did not decide in time");
        let answer = answered.map_err(slow)?.map_err(malformed)?;
        self.metrics.reviewed(phase, answer["response"]["allowed"] == true, began.elapsed());
        Ok(answer)
    }

    fn unanswered(&self, why: &Unanswered) -> Response<Full<Bytes>> {
        self.metrics.refused.count([why.reason]);
        let mut response = text(why.status, format!("{}\n", why.text));
        if why.status == StatusCode::SERVICE_UNAVAILABLE {
            response.headers_mut().insert(RETRY_AFTER, HeaderValue::from_static("1"));
        }
        response
    }
}

fn unanswered(status: StatusCode, reason: &'static str, text: impl Into<String>) -> Unanswered {
    Unanswered { status, reason, text: text.into() }
}

fn text(status: StatusCode, text: String) -> Response<Full<Bytes>> {
    let mut response = Response::new(Full::from(text));
    *response.status_mut() = status;
    of_type("text/plain; charset=utf-8", response)
}

fn of_type(content_type: &'static str, mut response: Response<Full<Bytes>>) -> Response<Full<Bytes>> {
    response.headers_mut().insert(CONTENT_TYPE, HeaderValue::from_static(content_type));
    response
}
