//! The metrics page, as text.

use prometheus_client::encoding::EncodeLabelSet;
use prometheus_client::encoding::text::encode;
use prometheus_client::metrics::family::Family;
use prometheus_client::metrics::gauge::Gauge;
use prometheus_client::metrics::info::Info;
use prometheus_client::registry::Unit;

use super::Metrics;
use crate::server::Limits;

/// OpenMetrics, which Prometheus prefers.
pub(crate) const CONTENT_TYPE: &str = "application/openmetrics-text; version=1.0.0; charset=utf-8";

#[derive(Clone, Debug, PartialEq, Eq, Hash, EncodeLabelSet)]
struct Labelled {
    of: &'static str,
}

impl Metrics {
    /// Renders the current values; `revision` and `kinds` are those of the server at this moment.
    pub(crate) fn page(&self, revision: Option<u64>, kinds: usize) -> String {
        if let Some(revision) = revision {
            self.revision.set(i64::try_from(revision).unwrap_or(i64::MAX));
        }
        self.kinds.set(i64::try_from(kinds).unwrap_or(i64::MAX));
        let mut text = String::new();
        encode(&mut text, &self.registry).expect("a string takes all that is written");
        text
    }

    pub(super) fn register(&mut self, limits: &Limits) {
        let Self { registry, .. } = self;
        self.audited.register(registry);
        self.counted.register(registry);
        self.flows.register(registry);
        self.interested.register(registry);
        registry.register(
            "apiserver_request",
            "Requests that were answered, by what was asked for and the answer's code",
            self.requests.clone(),
        );
        registry.register_with_unit(
            "apiserver_request_duration",
            "How long requests took until their answer began; watches are not counted",
            Unit::Seconds,
            self.seconds.clone(),
        );
        registry.register(
            "apiserver_current_inflight_requests",
            "Requests that are worked on, watches not counted",
            self.in_flight.clone(),
        );
        registry.register(
            "apiserver_longrunning_requests",
            "Watches that are open",
            self.long_running.clone(),
        );
        registry.register(
            "apiserver_watch_events",
            "Events sent to watches, marks not counted",
            self.events.clone(),
        );
        registry.register(
            "machinery_watches_asked",
            "Watches that were asked whether an event concerns them, because an index found them",
            self.asked.clone(),
        );
        registry.register(
            "machinery_watches_scanned",
            "Watches that are asked about every event: nothing in their selectors says which concern them",
            self.everywhere.clone(),
        );
        registry.register(
            "apiserver_request_terminations",
            "Requests that were refused or cut off because a limit was reached",
            self.terminated.clone(),
        );
        registry.register(
            "apiserver_tls_handshake_errors",
            "Connections that no TLS came of",
            self.handshakes.clone(),
        );
        registry.register("machinery_connections", "Connections that are open", self.connections.clone());
        registry.register_with_unit(
            "machinery_response",
            "Bytes of answers and of watches, before compression and TLS",
            Unit::Bytes,
            self.bytes.clone(),
        );
        registry.register(
            "machinery_store_revision",
            "Where the store is: one more with each commit",
            self.revision.clone(),
        );
        registry.register(
            "machinery_kinds",
            "Kinds that are served, each version counted",
            self.kinds.clone(),
        );
        let most = Family::<Labelled, Gauge>::default();
        let whole = |number: usize| i64::try_from(number).unwrap_or(i64::MAX);
        for (of, limit) in [
            ("requests", whole(limits.in_flight)),
            ("admitted", whole(limits.admitted)),
            ("long_lists", whole(limits.long_lists)),
            ("watches", whole(limits.watches)),
            ("connections", whole(limits.connections)),
            ("interests", whole(limits.interests)),
            ("interests_bytes", limits.interests_bytes.into()),
            ("bodies_bytes", limits.bodies_bytes.into()),
        ] {
            most.get_or_create(&Labelled { of }).set(limit);
        }
        registry.register("machinery_limit", "How much there may be at the same time", most);
        let labels =
            vec![("version", env!("CARGO_PKG_VERSION")), ("rust_version", env!("CARGO_PKG_RUST_VERSION"))];
        registry.register("machinery_build", "Which server this is", Info::new(labels));
    }
}
