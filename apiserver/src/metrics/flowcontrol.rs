//! Metrics of flow control, under the names of Kubernetes where the meaning is the same.

use std::time::Duration;

use machinery_metrics::{Description, MetricSet};
use prometheus_client::encoding::EncodeLabelSet;
use prometheus_client::metrics::counter::Counter;
use prometheus_client::metrics::family::Family;
use prometheus_client::metrics::gauge::Gauge;
use prometheus_client::metrics::histogram::Histogram;

use crate::flowcontrol::{LevelCounts, PriorityLevel};

/// Counters by priority level. Their number is constant.
#[derive(Clone)]
pub(crate) struct FlowCounters {
    dispatched: Family<FlowLabels, Counter>,
    rejected: Family<RejectionLabels, Counter>,
    seconds: Family<WaitLabels, Histogram, fn() -> Histogram>,
    /// The counters of dispatched requests and of their waits, by level: without a look-up.
    hot: [(Counter, Histogram); PriorityLevel::ALL.len()],
    queued: Family<FlowLabels, Gauge>,
    executing: Family<FlowLabels, Gauge>,
    seats: Family<FlowLabels, Gauge>,
    waiting: Family<FlowLabels, Gauge>,
    nominal: Family<PriorityLabel, Gauge>,
    guaranteed: Family<PriorityLabel, Gauge>,
}

#[derive(Clone, Debug, PartialEq, Eq, Hash, EncodeLabelSet)]
struct FlowLabels {
    priority_level: &'static str,
    flow_schema: &'static str,
}

#[derive(Clone, Debug, PartialEq, Eq, Hash, EncodeLabelSet)]
struct PriorityLabel {
    priority_level: &'static str,
}

#[derive(Clone, Debug, PartialEq, Eq, Hash, EncodeLabelSet)]
struct RejectionLabels {
    #[prometheus(flatten)]
    flow: FlowLabels,
    reason: &'static str,
}

#[derive(Clone, Debug, PartialEq, Eq, Hash, EncodeLabelSet)]
struct WaitLabels {
    #[prometheus(flatten)]
    flow: FlowLabels,
    execute: &'static str,
}

/// Kubernetes' buckets of the wait for a seat, and finer ones: most waits here are below 5 ms.
const SECONDS: [f64; 17] =
    [0.0, 0.0002, 0.0005, 0.001, 0.002, 0.005, 0.01, 0.02, 0.05, 0.1, 0.2, 0.5, 1.0, 2.0, 5.0, 10.0, 15.0];

const ROW: &str = "Flow control";
const LEVEL: &[&str] = &["priority_level"];
const FLOW: &[&str] = &["priority_level", "flow_schema"];

impl Default for FlowCounters {
    fn default() -> Self {
        let dispatched = Family::<FlowLabels, Counter>::default();
        let histogram: fn() -> Histogram = || Histogram::new(SECONDS);
        let seconds = Family::<WaitLabels, Histogram, fn() -> Histogram>::new_with_constructor(histogram);
        let hot = PriorityLevel::ALL.map(|level| {
            let counter = dispatched.get_or_create(&labels(level)).clone();
            let executed = WaitLabels { flow: labels(level), execute: "true" };
            (counter, seconds.get_or_create(&executed).clone())
        });
        Self {
            dispatched,
            rejected: Family::default(),
            seconds,
            hot,
            queued: Family::default(),
            executing: Family::default(),
            seats: Family::default(),
            waiting: Family::default(),
            nominal: Family::default(),
            guaranteed: Family::default(),
        }
    }
}

impl FlowCounters {
    /// Counts a request that has a seat after this time.
    pub(crate) fn dispatched(&self, level: PriorityLevel, waited: Duration) {
        let (dispatched, seconds) = &self.hot[level as usize];
        dispatched.inc();
        seconds.observe(waited.as_secs_f64());
    }

    /// Counts the wait of a request that found no seat.
    pub(crate) fn waited(&self, level: PriorityLevel, waited: Duration) {
        let of = WaitLabels { flow: labels(level), execute: "false" };
        self.seconds.get_or_create(&of).observe(waited.as_secs_f64());
    }

    /// Counts a rejected request.
    pub(crate) fn rejected(&self, level: PriorityLevel, reason: &'static str) {
        self.rejected.get_or_create(&RejectionLabels { flow: labels(level), reason }).inc();
    }

    /// Sets the gauges of a level.
    pub(crate) fn export(&self, level: PriorityLevel, counts: &LevelCounts) {
        let whole = |number: usize| i64::try_from(number).unwrap_or(i64::MAX);
        let LevelCounts { executing, waiting, queued, nominal, guaranteed } = *counts;
        let (flow, label) = (labels(level), PriorityLabel { priority_level: level.name() });
        for (gauge, count) in [
            (&self.queued, queued),
            (&self.executing, executing),
            (&self.seats, executing),
            (&self.waiting, waiting),
        ] {
            gauge.get_or_create(&flow).set(whole(count));
        }
        self.nominal.get_or_create(&label).set(whole(nominal));
        self.guaranteed.get_or_create(&label).set(whole(guaranteed));
    }

    pub(super) fn register(&self, set: &mut MetricSet) {
        let counter = |name, help| Description::counter(name, help).labels(FLOW).row(ROW);
        let gauge = |name, help| Description::gauge(name, help).labels(FLOW).row(ROW);
        let seats = |name, help| Description::gauge(name, help).labels(LEVEL).row(ROW).titled("Shares");
        set.register(
            counter("apiserver_flowcontrol_dispatched_requests", "Executed requests by priority level"),
            self.dispatched.clone(),
        );
        set.register(
            counter(
                "apiserver_flowcontrol_rejected_requests",
                "Requests rejected by flow control, by reason",
            )
            .labels(&["priority_level", "flow_schema", "reason"]),
            self.rejected.clone(),
        );
        set.register(
            Description::seconds(
                "apiserver_flowcontrol_request_wait_duration_seconds",
                "Time of requests in a queue, zero included",
                &SECONDS,
            )
            .labels(&["priority_level", "flow_schema", "execute"])
            .row(ROW),
            self.seconds.clone(),
        );
        set.register(
            gauge("apiserver_flowcontrol_current_inqueue_requests", "Queued requests of a priority level"),
            self.queued.clone(),
        );
        set.register(
            gauge(
                "apiserver_flowcontrol_current_executing_requests",
                "Executing requests, without waiting ones",
            )
            .titled("Executing"),
            self.executing.clone(),
        );
        set.register(
            gauge(
                "apiserver_flowcontrol_current_executing_seats",
                "Seats of executing requests, one for each",
            )
            .titled("Executing"),
            self.seats.clone(),
        );
        set.register(
            seats("apiserver_flowcontrol_nominal_limit_seats", "Share of a priority level in all seats"),
            self.nominal.clone(),
        );
        set.register(
            seats("apiserver_flowcontrol_lower_limit_seats", "Seats of a priority level that are never lent"),
            self.guaranteed.clone(),
        );
        set.register(
            gauge(
                "machinery_requests_waiting",
                "Requests without a seat that wait for a webhook, a revision, a guard or a quota",
            ),
            self.waiting.clone(),
        );
    }
}

const fn labels(level: PriorityLevel) -> FlowLabels {
    FlowLabels { priority_level: level.name(), flow_schema: level.flow_schema() }
}
