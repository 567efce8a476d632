//! One call: a POST, and an answer that is not too long. Nobody is followed anywhere else.

use std::time::Duration;

use bytes::Bytes;
use http::header::{ACCEPT, CONTENT_TYPE, HOST, USER_AGENT};
use http::{Request, Response};
use http_body_util::{BodyExt as _, Full, Limited};
use hyper::body::Incoming;
use serde_json::Value;
use tokio::time::timeout;

use super::Roads;
use super::connect::{Connection, Connections, connect};
use super::target::Target;

/// Bytes of an answer.
const MOST: usize = 3 << 20;

/// How one webhook is reached.
pub(in crate::admission) struct Caller {
    /// Or why it cannot be.
    target: Result<Target, String>,
    roads: Roads,
    connections: Connections,
}

impl Caller {
    pub(super) fn of(client: &Value, roads: &Roads) -> Self {
        let connections = Connections::default();
        Self { target: Target::of(client, roads), roads: roads.clone(), connections }
    }

    /// Sends a review, and returns what is answered. Dropping this future ends the connection that it is on.
    ///
    /// # Errors
    /// Nobody is reached, nothing is answered in time, or no answer.
    pub(in crate::admission) async fn call(&self, body: Bytes, time: Duration) -> Result<Bytes, String> {
        let target = self.target.as_ref().map_err(Clone::clone)?;
        let late = |_| Err(format!("{} did not answer within {} seconds", target.authority, time.as_secs()));
        timeout(time, self.answer(target, body, time)).await.unwrap_or_else(late)
    }

    async fn answer(&self, target: &Target, body: Bytes, time: Duration) -> Result<Bytes, String> {
        let request = || {
            Request::post(format!("{}?timeout={}s", target.path, time.as_secs()))
                .header(HOST, &target.authority)
                .header(CONTENT_TYPE, "application/json")
                .header(ACCEPT, "application/json, */*")
                .header(USER_AGENT, concat!("machinery-apiserver/", env!("CARGO_PKG_VERSION")))
                .body(Full::new(body.clone()))
                .map_err(|error| error.to_string())
        };
        // Whether one that was kept is still good is known when it is used. A review may come twice: it says what it is about.
        if let Some(mut kept) = self.connections.take()
            && let Ok(response) = kept.send_request(request()?).await
        {
            return self.read(target, kept, response).await;
        }
        let mut connection = connect(target, &self.roads).await?;
        let response = connection.send_request(request()?).await;
        let response = response.map_err(|error| format!("{} did not answer: {error}", target.authority))?;
        self.read(target, connection, response).await
    }

    async fn read(
        &self,
        target: &Target,
        connection: Connection,
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
