//! Metrics of the server, as Prometheus reads them. A metric of kube-apiserver keeps its name.
//!
//! * [`about`]: the bounded labels of requests
//! * [`audited`]: counters of the audit log's events
//! * [`counted`]: counters of limits and failures
//! * [`flowcontrol`]: metrics of flow control
//! * [`interested`]: counters of interest streams
//! * [`page`]: all of it as text

mod about;
mod audited;
mod counted;
mod flowcontrol;
mod interested;
mod page;

pub(crate) use about::RequestLabels;
pub(crate) use audited::Audited;
pub(crate) use counted::{Event, EventCounters};
pub(crate) use flowcontrol::FlowCounters;
pub(crate) use interested::Interested;
pub(crate) use page::CONTENT_TYPE;

use machinery_metrics::{Description, MetricSet};
use prometheus_client::encoding::EncodeLabelSet;
use prometheus_client::metrics::counter::Counter;
use prometheus_client::metrics::family::Family;
use prometheus_client::metrics::gauge::Gauge;
use prometheus_client::metrics::histogram::Histogram;
use tokio::time::Duration;

use about::{KnownKinds, OfKind};

use crate::kind;
use crate::request::{Resource, Verb};
use crate::server::Limits;

/// The metrics of a server. Counters are atomic: no request waits for them.
pub(crate) struct Metrics {
    set: MetricSet,
    known: KnownKinds,
    requests: Family<Answered, Counter>,
    seconds: Family<RequestLabels, Histogram, fn() -> Histogram>,
    bytes: Family<RequestLabels, Counter>,
    in_flight: Family<RequestKind, Gauge>,
    long_running: Family<RequestLabels, Gauge>,
    events: Family<RequestLabels, Counter>,
    asked: Family<OfKind, Counter>,
    everywhere: Family<OfKind, Gauge>,
    terminated: Family<Code, Counter>,
    handshakes: Counter,
    connections: Gauge,
    revision: Gauge,
    kinds: Gauge,
    pub(crate) audited: Audited,
    pub(crate) counted: EventCounters,
    pub(crate) flows: FlowCounters,
    pub(crate) interested: Interested,
}

#[derive(Clone, Debug, PartialEq, Eq, Hash, EncodeLabelSet)]
struct Answered {
    #[prometheus(flatten)]
    about: RequestLabels,
    code: u16,
}

#[derive(Clone, Debug, PartialEq, Eq, Hash, EncodeLabelSet)]
struct RequestKind {
    request_kind: &'static str,
}

#[derive(Clone, Debug, PartialEq, Eq, Hash, EncodeLabelSet)]
struct Code {
    code: u16,
}

/// Counters of watch selection: the number of evaluated watches, and the number that every change
/// evaluates.
#[derive(Clone, Debug, Default)]
pub(crate) struct SelectionCounters {
    pub(crate) asked: Counter,
    pub(crate) everywhere: Gauge,
}

/// Returns the descriptions of the server's metrics, for its dashboard and its documentation.
#[must_use]
pub fn metric_descriptions() -> Vec<Description> {
    Metrics::new(&Limits::default()).set.descriptions().to_vec()
}

/// Guard of a gauge: increments it, and decrements it on drop.
pub(crate) struct GoingOn(Gauge);

impl GoingOn {
    fn new(gauge: &Gauge) -> Self {
        gauge.inc();
        Self(gauge.clone())
    }
}

impl Drop for GoingOn {
    fn drop(&mut self) {
        self.0.dec();
    }
}

/// The buckets of kube-apiserver, from 5 ms to a minute, and finer ones: most requests take less.
const SECONDS: [f64; 23] = [
    0.0001, 0.0002, 0.0005, 0.001, 0.002, 0.005, 0.01, 0.025, 0.05, 0.1, 0.2, 0.4, 0.6, 0.8, 1.0, 1.25, 1.5,
    2.0, 3.0, 5.0, 10.0, 30.0, 60.0,
];

impl Metrics {
    /// Creates and registers all metrics, and exports the limits.
    pub(crate) fn new(limits: &Limits) -> Self {
        let seconds: fn() -> Histogram = || Histogram::new(SECONDS);
        let mut metrics = Self {
            set: MetricSet::default(),
            known: KnownKinds::default(),
            requests: Family::default(),
            seconds: Family::new_with_constructor(seconds),
            bytes: Family::default(),
            in_flight: Family::default(),
            long_running: Family::default(),
            events: Family::default(),
            asked: Family::default(),
            everywhere: Family::default(),
            terminated: Family::default(),
            handshakes: Counter::default(),
            connections: Gauge::default(),
            revision: Gauge::default(),
            kinds: Gauge::default(),
            audited: Audited::default(),
            counted: EventCounters::default(),
            flows: FlowCounters::default(),
            interested: Interested::default(),
        };
        metrics.register(limits);
        metrics
    }

    /// Returns the labels of a request for objects.
    pub(crate) fn about(&self, kinds: &kind::Registry, verb: Verb, resource: &Resource) -> RequestLabels {
        RequestLabels::objects(&self.known, kinds, verb, resource)
    }

    /// Counts a request in flight until the guard is dropped.
    pub(crate) fn worked_on(&self, reads: bool) -> GoingOn {
        let request_kind = if reads { "readOnly" } else { "mutating" };
        GoingOn::new(&self.in_flight.get_or_create(&RequestKind { request_kind }))
    }

    /// Counts an open watch until the guard is dropped. Also returns the counter of its events.
    pub(crate) fn watched(&self, about: &RequestLabels) -> (GoingOn, Counter) {
        let going_on = GoingOn::new(&self.long_running.get_or_create(about));
        (going_on, self.events.get_or_create(about).clone())
    }

    /// Returns the watch selection counters of a kind.
    pub(crate) fn selection(&self, kind: &kind::Kind) -> SelectionCounters {
        let of = OfKind::new(&self.known, kind);
        let asked = self.asked.get_or_create(&of).clone();
        SelectionCounters { asked, everywhere: self.everywhere.get_or_create(&of).clone() }
    }

    /// Counts an open connection until the guard is dropped.
    #[cfg(feature = "server")]
    pub(crate) fn connected(&self) -> GoingOn {
        GoingOn::new(&self.connections)
    }

    /// Counts a failed TLS handshake.
    #[cfg(feature = "server")]
    pub(crate) fn handshake_failed(&self) {
        self.handshakes.inc();
    }

    /// Counts a response. Returns the counter of its bytes.
    pub(crate) fn answered(&self, about: RequestLabels, code: u16, took: Duration) -> Counter {
        if !about.is_watch() {
            self.seconds.get_or_create(&about).observe(took.as_secs_f64());
        }
        if matches!(code, 408 | 413 | 429 | 431) || code == 504 {
            self.terminated.get_or_create(&Code { code }).inc();
        }
        let bytes = self.bytes.get_or_create(&about).clone();
        self.requests.get_or_create(&Answered { about, code }).inc();
        bytes
    }
}
