//! Webhook calls: HTTPS with pooled connections.

#[cfg(feature = "server")]
mod connect;
#[cfg(not(feature = "server"))]
mod disabled;
#[cfg(feature = "server")]
mod https;
#[cfg(feature = "server")]
mod target;
#[cfg(feature = "server")]
mod verifier;

use std::net::SocketAddr;
use std::sync::Arc;

use machinery_sync::Mutex;
use serde_json::Value;
use tokio_util::sync::CancellationToken;
use tokio_util::task::TaskTracker;

#[cfg(not(feature = "server"))]
pub(super) use disabled::DisabledClient as WebhookClient;
#[cfg(feature = "server")]
pub(super) use https::WebhookClient;

/// Resolves a service by namespace, name and port.
pub(crate) type Services = dyn Fn(&str, &str, u16) -> Option<SocketAddr> + Send + Sync;

/// State that all clients share.
#[derive(Clone, Default)]
#[cfg_attr(not(feature = "server"), allow(dead_code, reason = "nobody is called"))]
pub(crate) struct WebhookTransport {
    pub(crate) services: Option<Arc<Services>>,
    /// Certificate authorities for webhooks without a `caBundle`, in PEM.
    pub(crate) roots: Vec<u8>,
    pub(crate) tasks: TaskTracker,
    pub(crate) stopping: CancellationToken,
}

/// Clients by `clientConfig`.
#[derive(Default)]
pub(crate) struct WebhookClients {
    transport: WebhookTransport,
    known: Mutex<Vec<(Value, Arc<WebhookClient>)>>,
}

impl WebhookClients {
    pub(crate) fn new(transport: WebhookTransport) -> Self {
        Self { transport, known: Mutex::default() }
    }

    /// Returns the client for a `clientConfig`.
    pub(super) fn of(&self, client: &Value) -> Arc<WebhookClient> {
        let mut known = self.known.lock();
        // Clients without other references belong to deleted configurations.
        known.retain(|(of, caller)| of == client || Arc::strong_count(caller) > 1);
        if let Some((_, caller)) = known.iter().find(|(of, _)| of == client) {
            return caller.clone();
        }
        let caller = Arc::new(WebhookClient::of(client, &self.transport));
        known.push((client.clone(), caller.clone()));
        caller
    }
}
