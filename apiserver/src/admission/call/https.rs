//! One webhook call: a POST and a response of limited size. Redirects are not followed.

use std::time::Duration;

use bytes::Bytes;
use http::header::{ACCEPT, CONTENT_TYPE, HOST, USER_AGENT};
use http::{Request, Response};
use http_body_util::{BodyExt as _, Full, Limited};
use hyper::body::Incoming;
use serde_json::Value;
use tokio::time::timeout;

use super::WebhookTransport;
use super::connect::{ConnectionPool, WebhookConnection, connect};
use super::target::WebhookTarget;

/// Limit of a response, in bytes.
const MOST: usize = 3 << 20;

/// A client of one webhook.
pub(in crate::admission) struct WebhookClient {
    /// Or the configuration error.
    target: Result<WebhookTarget, String>,
    transport: WebhookTransport,
    connections: ConnectionPool,
}

impl WebhookClient {
    pub(super) fn of(client: &Value, transport: &WebhookTransport) -> Self {
        let connections = ConnectionPool::default();
        Self { target: WebhookTarget::of(client, transport), transport: transport.clone(), connections }
    }

    /// Sends an AdmissionReview and returns the response body. Dropping the future closes its
    /// connection.
    ///
    /// # Errors
    /// No connection, a timeout, or an invalid response.
    pub(in crate::admission) async fn call(&self, body: Bytes, time: Duration) -> Result<Bytes, String> {
        let target = self.target.as_ref().map_err(Clone::clone)?;
        let late = |_| Err(format!("{} did not answer within {} seconds", target.authority, time.as_secs()));
        timeout(time, self.answer(target, body, time)).await.unwrap_or_else(late)
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
