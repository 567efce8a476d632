//! Metrics of a webhook server.

use std::time::Duration;

use machinery_metrics::{CALLS, MetricSet};
use prometheus_client::metrics::gauge::Gauge;

use super::ReviewPhase;

machinery_metrics::metrics! {
    /// The metrics of a [`WebhookServer`](super::WebhookServer), which it also serves at
    /// `/metrics`. No request can create a series. Cheap to clone.
    pub struct WebhookMetrics("machinery_webhook", "Webhooks") {
        /// Answered reviews, by phase and outcome
        reviews: counter("reviews", ["phase", "outcome"]);
        /// Duration of the hooks of a review
        seconds: seconds("review_duration_seconds", ["phase"], CALLS);
        /// Requests without an answer to their review, by reason
        refused: counter("refused", ["reason"]);
        /// Reviews in progress
        in_flight: gauge("in_flight", []);
        /// Open connections
        connections: gauge("connections", []);
        /// Reloads of the certificate files, by result
        reloads: counter("certificate_reloads", ["result"]);
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
        let phase = phase.name();
        let outcome = if is_allowed { "allowed" } else { "denied" };
        self.reviews.count([phase, outcome]);
        self.seconds.observe([phase], took.as_secs_f64());
    }

    pub(super) fn refused(&self, reason: &'static str) {
        self.refused.count([reason]);
    }

    pub(super) fn reloaded(&self, is_ok: bool) {
        let result = if is_ok { "success" } else { "failure" };
        self.reloads.count([result]);
    }

    pub(super) fn in_flight(&self) -> RaisedGauge {
        RaisedGauge::of(&self.in_flight.with([]))
    }

    pub(super) fn connected(&self) -> RaisedGauge {
        RaisedGauge::of(&self.connections.with([]))
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
