//! [`WebhookServer`]: the socket of a webhook server.

use std::net::SocketAddr;
use std::sync::Arc;
use std::time::Duration;

use jiff::Timestamp;
use tokio::net::TcpListener;
use tokio::sync::Semaphore;
use tokio::time::{MissedTickBehavior, interval, sleep, timeout};
use tokio_util::sync::CancellationToken;
use tokio_util::task::TaskTracker;

use super::WebhookServerError;
use super::connection::serve;
use super::hooks::{AdmissionHooks, RunnableHooks};
use super::limits::WebhookLimits;
use super::metrics::WebhookMetrics;
use super::routes::Routes;
use super::tls::{ReloadedTls, WebhookTls};

/// Pause after a failed accept: descriptors may be exhausted.
const PAUSE: Duration = Duration::from_millis(50);

/// A server of admission webhooks: [`AdmissionHooks`] as AdmissionReview v1 over TLS, on HTTP/1.1
/// and HTTP/2.
///
/// - `POST /mutate` and `POST /validate` answer reviews. A request that is no review has an error
///   status with the remedy, and the `failurePolicy` of the configuration decides.
/// - `GET /livez`, `/healthz` and `/readyz` are health checks: a stopping server is not ready.
/// - `GET /metrics` is the page of its [`WebhookMetrics`].
/// - Certificates and the CA of clients are reloaded when their files change.
///
/// It needs no API server of ours; see [`AdmissionHooks::manifests`].
pub struct WebhookServer {
    hooks: RunnableHooks,
    listener: TcpListener,
    address: SocketAddr,
    tls: ReloadedTls,
    limits: WebhookLimits,
    metrics: WebhookMetrics,
}

impl WebhookServer {
    /// Binds the server. It serves once it [runs](Self::run).
    ///
    /// # Errors
    /// A hook is invalid, the address is in use, or a file is not usable.
    pub async fn bind(
        hooks: AdmissionHooks,
        address: SocketAddr,
        tls: WebhookTls,
    ) -> Result<Self, WebhookServerError> {
        let hooks = hooks.runnable()?;
        let tls = ReloadedTls::open(tls, Timestamp::now())
            .map_err(|error| WebhookServerError::File(error.to_string()))?;
        let listener = TcpListener::bind(address).await;
        let bound = listener.and_then(|listener| Ok((listener.local_addr()?, listener)));
        let (address, listener) = bound.map_err(|why| WebhookServerError::Address { address, why })?;
        let (limits, metrics) = (WebhookLimits::default(), WebhookMetrics::default());
        Ok(Self { hooks, listener, address, tls, limits, metrics })
    }

    /// Sets the limits.
    #[must_use]
    pub const fn limits(mut self, limits: WebhookLimits) -> Self {
        self.limits = limits;
        self
    }

    /// Returns the bound address.
    #[must_use]
    pub const fn address(&self) -> SocketAddr {
        self.address
    }

    /// Returns the metrics.
    #[must_use]
    pub fn metrics(&self) -> WebhookMetrics {
        self.metrics.clone()
    }

    /// Serves until `stop` completes, then completes requests in flight within
    /// [`WebhookLimits::drain`]. Dropping the future closes the socket, and ends connections in the
    /// same way.
    pub async fn run(self, stop: impl Future<Output = ()> + Send) {
        let Self { hooks, listener, address: _, tls, limits, metrics } = self;
        let (tls, tasks, stopping) = (Arc::new(tls), TaskTracker::new(), CancellationToken::new());
        let mut stop = std::pin::pin!(stop);
        let ends_connections = stopping.clone().drop_guard();
        let places = |count: usize| Arc::new(Semaphore::new(count.clamp(1, Semaphore::MAX_PERMITS)));
        let (room, reviews) = (places(limits.connections), places(limits.reviews));
        let routes = Arc::new(Routes { hooks, limits, metrics, places: reviews, stopping });
        let mut ticks = interval(limits.reload.max(Duration::from_millis(1)));
        ticks.set_missed_tick_behavior(MissedTickBehavior::Delay);
        loop {
            let accepted = async {
                // Before the accept: connections beyond the limit wait in the kernel.
                let place = room.clone().acquire_owned().await;
                (listener.accept().await, place)
            };
            let (accepted, place) = tokio::select! {
                biased;
                () = stop.as_mut() => break,
                _ = ticks.tick() => {
                    tls.reload(Timestamp::now(), &routes.metrics);
                    continue;
                }
                accepted = accepted => accepted,
            };
            let Ok((stream, _)) = accepted else {
                sleep(PAUSE).await;
                continue;
            };
            let connection = serve(routes.clone(), tls.clone(), stream, tasks.clone());
            let connected = routes.metrics.raise_connections();
            tasks.spawn(async move {
                connection.await;
                drop((place, connected));
            });
        }
        drop((listener, ends_connections));
        tasks.close();
        if timeout(limits.drain, tasks.wait()).await.is_err() {
            tracing::warn!(left = tasks.len(), "connections of the webhook were open after the grace period");
        }
    }
}
