//! One webhook call: a POST and a response of limited size. Redirects are not followed.

use std::sync::Arc;
use std::time::Duration;

use bytes::Bytes;
use foldhash::fast::FixedState;
use http::header::{ACCEPT, CONTENT_TYPE, HOST, USER_AGENT};
use http::{Request, Response};
use http_body_util::{BodyExt as _, Full, Limited};
use hyper::body::Incoming;
use serde_json::Value;
use tokio::time::timeout;

use super::WebhookTransport;
use super::connect::{ConnectionPool, WebhookConnection, connect};
use super::target::WebhookTarget;
use crate::flowcontrol::{FlowControl, FlowLimits, current_flow};
use crate::metrics::FlowCounters;

/// Limit of a response, in bytes.
const MOST: usize = 3 << 20;

/// Limits of the calls of one webhook: a hanging one takes no more descriptors, and users take
/// turns at a slow one. The timeout of a call limits its time in the queue, too.
const CALLS: FlowLimits = FlowLimits { seats: 128, places: 100_000, queue_time: Duration::from_secs(30) };

/// A client of one webhook.
pub(in crate::admission) struct WebhookClient {
    /// Or the configuration error.
    target: Result<WebhookTarget, String>,
    transport: WebhookTransport,
    connections: ConnectionPool,
    calls: Arc<FlowControl>,
}

impl WebhookClient {
    pub(super) fn of(client: &Value, transport: &WebhookTransport) -> Self {
        let connections = ConnectionPool::default();
        let calls = FlowControl::new(&CALLS, FlowCounters::default(), FixedState::default());
        Self {
            target: WebhookTarget::of(client, transport),
            transport: transport.clone(),
            connections,
            calls: Arc::new(calls),
        }
    }

    /// Sends an AdmissionReview and returns the response body. Dropping the future closes its
    /// connection.
    ///
    /// # Errors
    /// No connection, a timeout, or an invalid response.
    pub(in crate::admission) async fn call(&self, body: Bytes, time: Duration) -> Result<Bytes, String> {
        let target = self.target.as_ref().map_err(Clone::clone)?;
        let late = |_| Err(format!("{} did not answer within {} seconds", target.authority, time.as_secs()));
        let answer = async {
            let seat = self.calls.enter(current_flow()).await;
            let _seat = seat.map_err(|_| format!("too many calls of {} wait", target.authority))?;
            self.answer(target, body, time).await
        };
        timeout(time, answer).await.unwrap_or_else(late)
    }

    async fn answer(&self, target: &WebhookTarget, body: Bytes, time: Duration) -> Result<Bytes, String> {
        let request = || {
            Request::post(format!("{}?timeout={}s", target.path, time.as_secs()))
                .header(HOST, &target.authority)
                .header(CONTENT_TYPE, "application/json")
                .header(ACCEPT, "application/json, */*")
                .header(USER_AGENT, concat!("machinery-apiserver/", env!("CARGO_PKG_VERSION")))
                .body(Full::new(body.clone()))
                .map_err(|error| error.to_string())
        };
        // A stale idle connection shows only on use. The repeated review has the same UID.
        if let Some(mut kept) = self.connections.take()
            && let Ok(response) = kept.send_request(request()?).await
        {
            return self.read(target, kept, response).await;
        }
        let mut connection = connect(target, &self.transport).await?;
        let response = connection.send_request(request()?).await;
        let response = response.map_err(|error| format!("{} did not answer: {error}", target.authority))?;
        self.read(target, connection, response).await
    }

    async fn read(
        &self,
        target: &WebhookTarget,
        connection: WebhookConnection,
        response: Response<Incoming>,
    ) -> Result<Bytes, String> {
        let status = response.status();
        if !status.is_success() {
            return Err(format!("{} answered {status}", target.authority));
        }
        let body = Limited::new(response.into_body(), MOST).collect().await;
        let body = body.map_err(|error| match error.is::<http_body_util::LengthLimitError>() {
            true => format!("the answer of {} is longer than {MOST} bytes", target.authority),
            false => format!("the answer of {} ended early: {error}", target.authority),
        })?;
        self.connections.keep(connection);
        Ok(body.to_bytes())
    }
}
