//! The client of a build without the feature `server`.

use std::time::Duration;

use bytes::Bytes;
use serde_json::Value;

use super::WebhookTransport;

pub(in crate::admission) struct DisabledClient;

impl DisabledClient {
    pub(super) const fn of(_client: &Value, _roads: &WebhookTransport) -> Self {
        Self
    }

    /// Always fails, so that `failurePolicy` applies.
    #[allow(clippy::unused_async, reason = "as where there are sockets")]
    pub(in crate::admission) async fn call(&self, _body: Bytes, _time: Duration) -> Result<Bytes, String> {
        Err("this server was built without the feature `server`, and calls no webhooks".into())
    }
}
