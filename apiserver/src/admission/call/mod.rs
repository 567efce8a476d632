//! Calling webhooks: over TLS, by connections that are kept.

#[cfg(feature = "server")]
mod connect;
#[cfg(feature = "server")]
mod https;
#[cfg(feature = "server")]
mod known;
#[cfg(not(feature = "server"))]
mod nobody;
#[cfg(feature = "server")]
mod target;

use std::net::SocketAddr;
use std::sync::Arc;

use machinery_sync::Mutex;
use serde_json::Value;
use tokio_util::sync::CancellationToken;
use tokio_util::task::TaskTracker;

#[cfg(feature = "server")]
pub(super) use https::Caller;
#[cfg(not(feature = "server"))]
pub(super) use nobody::Caller;

/// Where services are: by their namespace, name and port.
pub(crate) type Services = dyn Fn(&str, &str, u16) -> Option<SocketAddr> + Send + Sync;

/// What all calls share.
#[derive(Clone, Default)]
#[cfg_attr(not(feature = "server"), allow(dead_code, reason = "nobody is called"))]
pub(crate) struct Roads {
    pub(crate) services: Option<Arc<Services>>,
    /// Authorities that webhooks are known by that bring none, in PEM.
    pub(crate) roots: Vec<u8>,
    pub(crate) tasks: TaskTracker,
    pub(crate) stopping: CancellationToken,
}

/// All webhooks that are reached, by how their configurations say that they are.
#[derive(Default)]
pub(crate) struct Callers {
    roads: Roads,
    known: Mutex<Vec<(Value, Arc<Caller>)>>,
}

impl Callers {
    pub(crate) fn new(roads: Roads) -> Self {
        Self { roads, known: Mutex::default() }
    }

    /// The one that is reached like this.
    pub(super) fn of(&self, client: &Value) -> Arc<Caller> {
        let mut known = self.known.lock();
        // Those that nobody else has any more are of configurations that are gone.
        known.retain(|(of, caller)| of == client || Arc::strong_count(caller) > 1);
        if let Some((_, caller)) = known.iter().find(|(of, _)| of == client) {
            return caller.clone();
        }
        let caller = Arc::new(Caller::of(client, &self.roads));
        known.push((client.clone(), caller.clone()));
        caller
    }
}
