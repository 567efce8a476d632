//! Counters of interest streams: sent events, irrelevant events and edits.

use prometheus_client::metrics::counter::Counter;
use prometheus_client::metrics::gauge::Gauge;
use prometheus_client::registry::Registry;

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
    pub(super) fn register(&self, registry: &mut Registry) {
        registry.register(
            "machinery_interest_events",
            "Events that interest watches were told of objects",
            self.told.clone(),
        );
        registry.register(
            "machinery_interest_irrelevant_events",
            "Events that interest watches were told of objects under none of their keys: by a second look at the object",
            self.irrelevant.clone(),
        );
        registry.register(
            "machinery_interest_edits",
            "Edits of interests that were accepted, their openings among them",
            self.edits.clone(),
        );
        registry.register(
            "machinery_interests",
            "Interests of the wire that are there, with their stream or before it",
            self.there.clone(),
        );
    }
}
