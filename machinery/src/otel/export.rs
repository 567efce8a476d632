//! The span exporter and its builder.

use std::sync::Arc;
use std::time::Duration;

use machinery_objects::SpanIds;
use machinery_workqueue::entropy;
use opentelemetry_otlp::{SpanExporter, WithExportConfig};
use opentelemetry_sdk::Resource;
use opentelemetry_sdk::trace::{BatchSpanProcessor, SpanProcessor};
use tracing::Subscriber;
use tracing_subscriber::Layer as _;
use tracing_subscriber::filter::{Filtered, LevelFilter};
use tracing_subscriber::registry::LookupSpan;

use super::layer::OtlpLayer;

/// Builds an [`Otlp`] exporter.
#[derive(Clone, Debug)]
#[must_use = "nothing is sent before it is started"]
pub struct OtlpStart {
    url: String,
    service: Option<String>,
    seed: Option<u64>,
}

/// Exports spans in batches from a thread of its own. Cheap to clone.
#[derive(Clone, Debug)]
pub struct Otlp(Arc<SpanSink>);

#[derive(Debug)]
pub(super) struct SpanSink {
    pub(super) processor: BatchSpanProcessor,
    pub(super) ids: SpanIds,
}

/// Error of the exporter.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum OtlpError {
    /// The endpoint is invalid.
    #[error("spans cannot be sent to {url}: name a collector as http://HOST:PORT, without TLS; {reason}")]
    Endpoint {
        /// The URL.
        url: String,
        /// Reason, for users.
        reason: String,
    },
    /// The remaining spans were not accepted in time.
    #[error("the last spans were not sent: {reason}; check that the collector accepts OTLP over HTTP")]
    Unsent {
        /// Reason, for users.
        reason: String,
    },
}

/// Timeout of the final flush.
const FLUSH_TIMEOUT: Duration = Duration::from_secs(5);
/// Path of the traces endpoint.
const PATH: &str = "/v1/traces";

impl Otlp {
    /// Returns a builder for an exporter to a collector, such as `http://127.0.0.1:4318`.
    pub fn to(url: impl Into<String>) -> OtlpStart {
        OtlpStart { url: url.into(), service: None, seed: None }
    }

    /// Returns a builder for an exporter to `OTEL_EXPORTER_OTLP_ENDPOINT`; `None` if that variable
    /// is unset or empty.
    pub fn from_env() -> Option<OtlpStart> {
        let url = std::env::var(opentelemetry_otlp::OTEL_EXPORTER_OTLP_ENDPOINT).ok();
        url.filter(|url| !url.is_empty()).map(Self::to)
    }

    /// Returns the subscriber layer that exports spans of level info and above.
    #[must_use]
    pub fn layer<S>(&self) -> Filtered<OtlpLayer, LevelFilter, S>
    where
        S: Subscriber + for<'l> LookupSpan<'l>,
    {
        // A per-layer filter, so that the verbose spans of libraries are not even created.
        OtlpLayer::new(self.0.clone()).with_filter(LevelFilter::INFO)
    }

    /// Flushes the remaining spans and stops.
    ///
    /// # Errors
    /// They were not accepted within five seconds.
    pub async fn finish(self) -> Result<(), OtlpError> {
        // It blocks until the collector has accepted the last spans.
        let finishing = move || self.0.processor.shutdown_with_timeout(FLUSH_TIMEOUT);
        let finished = tokio::task::spawn_blocking(finishing).await.map_err(|error| error.to_string());
        let finished = finished.and_then(|finished| finished.map_err(|error| error.to_string()));
        finished.map_err(|reason| OtlpError::Unsent { reason })
    }
}

impl OtlpStart {
    /// Sets the service name, unless `OTEL_SERVICE_NAME` is set.
    pub fn service(mut self, name: &str) -> Self {
        self.service = Some(name.into());
        self
    }

    /// Sets the seed of generated span ids, instead of system entropy.
    pub const fn seed(mut self, seed: u64) -> Self {
        self.seed = Some(seed);
        self
    }

    /// Starts the exporter. An unreachable collector is reported later, in the logs of
    /// OpenTelemetry.
    ///
    /// # Errors
    /// The URL is not a valid endpoint.
    pub fn start(self) -> Result<Otlp, OtlpError> {
        let Self { url, service, seed } = self;
        let refused = |reason: &str| OtlpError::Endpoint { url: url.clone(), reason: reason.into() };
        // The exporter has no TLS: an https URL would fail at each export, seen in logs only.
        let Some(host) = url.strip_prefix("http://") else {
            return Err(refused("its scheme is not http"));
        };
        if host.is_empty() || host.starts_with('/') {
            return Err(refused("it has no host"));
        }
        let base = url.trim_end_matches('/');
        // The SDK appends the path to the URL of the variable only, not to a given endpoint.
        let endpoint = if base.ends_with(PATH) { base.to_owned() } else { format!("{base}{PATH}") };
        let exporter = SpanExporter::builder().with_http().with_endpoint(endpoint).build();
        let mut processor =
            BatchSpanProcessor::builder(exporter.map_err(|error| refused(&error.to_string()))?).build();
        processor.set_resource(&resource(service));
        let ids = SpanIds::seeded(seed.unwrap_or_else(entropy));
        Ok(Otlp(Arc::new(SpanSink { processor, ids })))
    }
}

fn resource(service: Option<String>) -> Resource {
    let is_set = std::env::var("OTEL_SERVICE_NAME").is_ok_and(|name| !name.is_empty());
    match service.filter(|_| !is_set) {
        Some(name) => Resource::builder().with_service_name(name).build(),
        None => Resource::builder().build(),
    }
}
