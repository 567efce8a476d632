//! Metrics of a webhook server.

use std::time::Duration;

use machinery_metrics::{CALLS, MetricSet, metrics};
use prometheus_client::metrics::gauge::Gauge;

use super::ReviewPhase;

metrics! {
    /// The metrics of a [`WebhookServer`](super::WebhookServer), which serves them at `/metrics`,
    /// too. No request creates a series.
    pub struct WebhookMetrics("machinery_webhook", "Webhook") {
        /// Answered reviews, by phase and outcome
        pub reviews: counter("reviews", ["phase", "outcome"]);
        /// Duration of the hooks of a review
        pub review_duration: seconds("review_duration_seconds", ["phase"], CALLS);
        /// Requests without an answer to their review, by reason
        pub refused: counter("refused", ["reason"]);
        /// Reviews in progress
        pub in_flight: gauge("in_flight", []) in "Load";
        /// Open connections
        pub connections: gauge("connections", []) in "Load";
        /// Reloads of the certificate files, by result
        pub reloads: counter("certificate_reloads", ["result"]);
    }
}

/// Holds a gauge up.
pub(super) struct RaisedGauge(Gauge);

impl WebhookMetrics {
    /// Returns the metrics page, in OpenMetrics.
    #[must_use]
    pub fn page(&self) -> String {
        let mut set = MetricSet::default();
        set.add(self);
        set.page()
    }

    pub(super) fn reviewed(&self, phase: ReviewPhase, is_allowed: bool, took: Duration) {
        self.reviews.count([phase.name(), if is_allowed { "allowed" } else { "denied" }]);
        self.review_duration.observe([phase.name()], took.as_secs_f64());
    }

    pub(super) fn reloaded(&self, is_ok: bool) {
        self.reloads.count([if is_ok { "success" } else { "failure" }]);
    }

    pub(super) fn raise_in_flight(&self) -> RaisedGauge {
        RaisedGauge::of(self.in_flight.with([]))
    }

    pub(super) fn raise_connections(&self) -> RaisedGauge {
        RaisedGauge::of(self.connections.with([]))
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
    fn of(gauge: Gauge) -> Self {
        gauge.inc();
        Self(gauge)
    }
}

impl Drop for RaisedGauge {
    fn drop(&mut self) {
        self.0.dec();
    }
}
