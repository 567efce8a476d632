//! Metrics of a webhook server.

use std::sync::Arc;
use std::time::Duration;

use prometheus_client::encoding::EncodeLabelSet;
use prometheus_client::encoding::text::encode;
use prometheus_client::metrics::counter::Counter;
use prometheus_client::metrics::family::Family;
use prometheus_client::metrics::gauge::Gauge;
use prometheus_client::metrics::histogram::Histogram;
use prometheus_client::registry::{Registry, Unit};

use super::ReviewPhase;

/// From a tenth of a millisecond, for pure hooks, to the timeout of an API server.
const SECONDS: [f64; 14] =
    [0.0001, 0.000_25, 0.0005, 0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 1.0, 5.0, 10.0];

/// The metrics of a [`WebhookServer`](super::WebhookServer), which it also serves at `/metrics`.
/// No request can create a series.
#[derive(Clone, Debug)]
pub struct WebhookMetrics {
    reviews: Family<ReviewLabels, Counter>,
    seconds: Family<PhaseLabel, Histogram, fn() -> Histogram>,
    refused: Family<ReasonLabel, Counter>,
    in_flight: Gauge,
    connections: Gauge,
    reloads: Family<ResultLabel, Counter>,
    registry: Arc<machinery_sync::Mutex<Registry>>,
}

#[derive(Clone, Debug, PartialEq, Eq, Hash, EncodeLabelSet)]
struct ReviewLabels {
    phase: &'static str,
    outcome: &'static str,
}

#[derive(Clone, Debug, PartialEq, Eq, Hash, EncodeLabelSet)]
struct PhaseLabel {
    phase: &'static str,
}

#[derive(Clone, Debug, PartialEq, Eq, Hash, EncodeLabelSet)]
struct ReasonLabel {
    reason: &'static str,
}

#[derive(Clone, Debug, PartialEq, Eq, Hash, EncodeLabelSet)]
struct ResultLabel {
    result: &'static str,
}

/// Holds a gauge up.
pub(super) struct RaisedGauge(Gauge);

impl WebhookMetrics {
    pub(super) fn new() -> Self {
        let seconds: fn() -> Histogram = || Histogram::new(SECONDS);
        let metrics = Self {
            reviews: Family::default(),
            seconds: Family::new_with_constructor(seconds),
            refused: Family::default(),
            in_flight: Gauge::default(),
            connections: Gauge::default(),
            reloads: Family::default(),
            registry: Arc::default(),
        };
        metrics.register(&mut metrics.registry.lock());
        metrics
    }

    /// Registers the metrics with another registry, such as that of a program's own page.
    pub fn register(&self, registry: &mut Registry) {
        let Self { reviews, seconds, refused, in_flight, connections, reloads, registry: _ } = self;
        registry.register(
            "machinery_webhook_reviews",
            "Answered reviews, by phase and outcome",
            reviews.clone(),
        );
        registry.register_with_unit(
            "machinery_webhook_review_duration",
            "Duration of the hooks of a review",
            Unit::Seconds,
            seconds.clone(),
        );
        registry.register(
            "machinery_webhook_refused",
            "Requests without an answer to their review, by reason",
            refused.clone(),
        );
        registry.register("machinery_webhook_in_flight", "Reviews in progress", in_flight.clone());
        registry.register("machinery_webhook_connections", "Open connections", connections.clone());
        registry.register(
            "machinery_webhook_certificate_reloads",
            "Reloads of the certificate files, by result",
            reloads.clone(),
        );
    }

    /// Returns the metrics page, in OpenMetrics.
    #[must_use]
    pub fn page(&self) -> String {
        let mut text = String::new();
        // A string takes all that is written.
        let _ = encode(&mut text, &self.registry.lock());
        text
    }

    pub(super) fn reviewed(&self, phase: ReviewPhase, is_allowed: bool, took: Duration) {
        let phase = phase.name();
        let outcome = if is_allowed { "allowed" } else { "denied" };
        self.reviews.get_or_create(&ReviewLabels { phase, outcome }).inc();
        self.seconds.get_or_create(&PhaseLabel { phase }).observe(took.as_secs_f64());
    }

    pub(super) fn refused(&self, reason: &'static str) {
        self.refused.get_or_create(&ReasonLabel { reason }).inc();
    }

    pub(super) fn reloaded(&self, is_ok: bool) {
        let result = if is_ok { "success" } else { "failure" };
        self.reloads.get_or_create(&ResultLabel { result }).inc();
    }

    pub(super) fn in_flight(&self) -> RaisedGauge {
        RaisedGauge::of(&self.in_flight)
    }

    pub(super) fn connected(&self) -> RaisedGauge {
        RaisedGauge::of(&self.connections)
    }
}

impl ReviewPhase {
    const fn name(self) -> &'static str {
        match self {
            Self::Mutate => "mutate",
            Self::Validate => "validate",
        }
    }
}

impl RaisedGauge {
    fn of(gauge: &Gauge) -> Self {
        gauge.inc();
        Self(gauge.clone())
    }
}

impl Drop for RaisedGauge {
    fn drop(&mut self) {
        self.0.dec();
    }
}
