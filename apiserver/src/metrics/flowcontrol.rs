//! Metrics of flow control, under the names of Kubernetes where the meaning is the same.

use std::time::Duration;

use prometheus_client::encoding::EncodeLabelSet;
use prometheus_client::metrics::counter::Counter;
use prometheus_client::metrics::family::Family;
use prometheus_client::metrics::gauge::Gauge;
use prometheus_client::metrics::histogram::Histogram;
use prometheus_client::registry::{Registry, Unit};

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

/// Kubernetes' buckets of the wait for a seat.
const SECONDS: [f64; 12] = [0.0, 0.005, 0.02, 0.05, 0.1, 0.2, 0.5, 1.0, 2.0, 5.0, 10.0, 15.0];

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

    pub(super) fn register(&self, registry: &mut Registry) {
        let name = |rest: &str| format!("apiserver_flowcontrol_{rest}");
        registry.register(
            name("dispatched_requests"),
            "Requests that were executed, by their priority level",
            self.dispatched.clone(),
        );
        registry.register(
            name("rejected_requests"),
            "Requests that were refused by flow control, with the reason",
            self.rejected.clone(),
        );
        registry.register_with_unit(
            name("request_wait_duration"),
            "Time of requests in a queue, zero included",
            Unit::Seconds,
            self.seconds.clone(),
        );
        registry.register(
            name("current_inqueue_requests"),
            "Requests in the queues of a priority level",
            self.queued.clone(),
        );
        registry.register(
            name("current_executing_requests"),
            "Requests that are executed, without those that wait",
            self.executing.clone(),
        );
        registry.register(
            name("current_executing_seats"),
            "Seats of executed requests: one for each",
            self.seats.clone(),
        );
        registry.register(
            name("nominal_limit_seats"),
            "Share of a priority level in all seats",
            self.nominal.clone(),
        );
        registry.register(
            name("lower_limit_seats"),
            "Seats of a priority level that are never lent",
            self.guaranteed.clone(),
        );
        registry.register(
            "machinery_requests_waiting",
            "Requests without a seat that wait for a webhook, a revision, a guard or a quota",
            self.waiting.clone(),
        );
    }
}

const fn labels(level: PriorityLevel) -> FlowLabels {
    FlowLabels { priority_level: level.name(), flow_schema: level.flow_schema() }
}
