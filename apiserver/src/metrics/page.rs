//! The metrics page, as text.

use machinery_metrics::{Description, Unit};
use prometheus_client::encoding::EncodeLabelSet;
use prometheus_client::metrics::family::Family;
use prometheus_client::metrics::gauge::Gauge;
use prometheus_client::metrics::info::Info;

use super::{Metrics, SECONDS};
use crate::server::Limits;

/// OpenMetrics, which Prometheus prefers.
pub(crate) const CONTENT_TYPE: &str = "application/openmetrics-text; version=1.0.0; charset=utf-8";

#[derive(Clone, Debug, PartialEq, Eq, Hash, EncodeLabelSet)]
struct Labelled {
    of: &'static str,
}

const KIND: &[&str] = &["group", "version", "resource"];
const REQUEST: &[&str] = &["verb", "group", "version", "resource", "subresource", "scope"];

impl Metrics {
    /// Renders the current values; `revision` and `kinds` are those of the server at this moment.
    pub(crate) fn page(&self, revision: Option<u64>, kinds: usize) -> String {
        if let Some(revision) = revision {
            self.revision.set(i64::try_from(revision).unwrap_or(i64::MAX));
        }
        self.kinds.set(i64::try_from(kinds).unwrap_or(i64::MAX));
        self.set.page()
    }

    pub(super) fn register(&mut self, limits: &Limits) {
        let set = &mut self.set;
        let counter = |name, help| Description::counter(name, help).labels(REQUEST).row("Requests");
        let gauge = |name, help| Description::gauge(name, help).row("Requests");
        set.register(
            counter("apiserver_request", "Answered requests by code").labels(&[
                "verb",
                "group",
                "version",
                "resource",
                "subresource",
                "scope",
                "code",
            ]),
            self.requests.clone(),
        );
        set.register(
            Description::seconds(
                "apiserver_request_duration_seconds",
                "Time of requests until their response begins, without watches",
                &SECONDS,
            )
            .labels(REQUEST)
            .row("Requests"),
            self.seconds.clone(),
        );
        set.register(
            gauge("apiserver_current_inflight_requests", "Requests in flight, without watches")
                .labels(&["request_kind"]),
            self.in_flight.clone(),
        );
        set.register(
            counter("machinery_response_bytes", "Bytes of responses and watches, before compression and TLS")
                .unit(Unit::Bytes),
            self.bytes.clone(),
        );
        set.register(
            counter("apiserver_request_terminations", "Requests that a limit rejected or ended")
                .labels(&["code"])
                .row("Limits"),
            self.terminated.clone(),
        );
        set.register(
            gauge("apiserver_longrunning_requests", "Open watches").labels(REQUEST).row("Watches"),
            self.long_running.clone(),
        );
        set.register(
            counter("apiserver_watch_events", "Events sent to watches, without bookmarks").row("Watches"),
            self.events.clone(),
        );
        set.register(
            counter("machinery_watches_asked", "Watches that evaluated an event because an index found them")
                .labels(KIND)
                .row("Watches"),
            self.asked.clone(),
        );
        set.register(
            gauge(
                "machinery_watches_scanned",
                "Watches that evaluate every event: no index fits their selectors",
            )
            .labels(KIND)
            .row("Watches"),
            self.everywhere.clone(),
        );
        let server = |name, help| Description::gauge(name, help).row("Server");
        set.register(
            Description::counter("apiserver_tls_handshake_errors", "Failed TLS handshakes").row("Server"),
            self.handshakes.clone(),
        );
        set.register(server("machinery_connections", "Open connections"), self.connections.clone());
        set.register(
            server("machinery_store_revision", "Revision of the store, one more with each commit"),
            self.revision.clone(),
        );
        set.register(server("machinery_kinds", "Served kinds, each version counted"), self.kinds.clone());
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
        set.register(
            Description::gauge("machinery_limit", "Configured limits").labels(&["of"]).row("Limits"),
            most,
        );
        let labels =
            vec![("version", env!("CARGO_PKG_VERSION")), ("rust_version", env!("CARGO_PKG_RUST_VERSION"))];
        set.register(
            Description::info("machinery_build", "Version of the server")
                .labels(&["version", "rust_version"])
                .row("Server"),
            Info::new(labels),
        );
        self.flows.register(set);
        self.counted.register(set);
        self.interested.register(set);
        self.audited.register(set);
    }
}
