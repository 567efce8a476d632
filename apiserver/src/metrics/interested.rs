//! Counters of interest streams: sent events, irrelevant events and edits.

use machinery_metrics::{Description, MetricSet};
use prometheus_client::metrics::counter::Counter;
use prometheus_client::metrics::gauge::Gauge;

/// Counters over all interest streams.
#[derive(Clone, Debug, Default)]
pub(crate) struct Interested {
    /// Object events that were sent.
    pub(crate) told: Counter,
    /// Events under no key of the interest. There should be none.
    pub(crate) irrelevant: Counter,
    /// Edits that were accepted, openings among them.
    pub(crate) edits: Counter,
    pub(crate) there: Gauge,
}

impl Interested {
    pub(super) fn register(&self, set: &mut MetricSet) {
        let counter = |name, help| Description::counter(name, help).row("Interest watches");
        set.register(
            counter("machinery_interest_events", "Object events sent to interest watches"),
            self.told.clone(),
        );
        set.register(
            counter(
                "machinery_interest_irrelevant_events",
                "Object events sent to interest watches under none of their keys, as found by a second check",
            ),
            self.irrelevant.clone(),
        );
        set.register(
            counter("machinery_interest_edits", "Accepted edits of interests, their openings included"),
            self.edits.clone(),
        );
        set.register(
            Description::gauge(
                "machinery_interests",
                "Interests of HTTP clients, with or without their stream",
            )
            .row("Interest watches"),
            self.there.clone(),
        );
    }
}
