//! Metrics of the load generator.

use std::sync::Arc;

use super::series::{CALL, CounterSeries, GaugeSeries, HistogramSeries, MetricEntry};
use super::truth;

/// The metrics of all loads. Cheap to clone.
#[derive(Clone, Debug)]
pub struct LoadMetrics(Arc<LoadSeries>);

/// Operation counts are those of the latency histograms.
#[derive(Debug)]
struct LoadSeries {
    created: HistogramSeries<2>,
    deleted: HistogramSeries<1>,
    addressed: HistogramSeries<1>,
    addressed_easy: HistogramSeries<1>,
    ready: HistogramSeries<1>,
    ready_easy: HistogramSeries<1>,
    broken: HistogramSeries<1>,
    /// Since creation and since ready: with and without frames.
    half_tested: [HistogramSeries<1>; 2],
    tested: [HistogramSeries<1>; 2],
    tests: CounterSeries<3>,
    version: GaugeSeries<2>,
}

/// Bounds for times since the start of creation, by the load generator's clock.
const LONG: &[f64] = &[0.0, 0.125, 0.25, 0.5, 1.0, 2.0, 4.0, 8.0, 16.0, 32.0, 64.0, 128.0, 256.0, 512.0];

impl Default for LoadMetrics {
    fn default() -> Self {
        const RUN: &[&str; 1] = &["runID"];
        let long = |name, help| HistogramSeries::seconds(name, help, LONG, RUN);
        Self(Arc::new(LoadSeries {
            created: HistogramSeries::seconds(
                "driver_attachment_create_latency_seconds",
                "Duration of creations of attachments",
                CALL,
                &["runID", "err"],
            ),
            deleted: HistogramSeries::seconds(
                "driver_attachment_delete_latency_seconds",
                "Duration of deletions of attachments, including retries",
                CALL,
                RUN,
            ),
            addressed: long(
                "driver_attachment_create_to_addressed_latency_seconds",
                "Time from the start of creation until the attachment has an address",
            ),
            addressed_easy: long(
                "driver_attachment_create_to_addressed_easy_latency_seconds",
                "The same, for attachments that never waited for an address",
            ),
            ready: long(
                "driver_attachment_create_to_ready_latency_seconds",
                "Time from the start of creation until the attachment has its interface",
            ),
            ready_easy: long(
                "driver_attachment_create_to_ready_easy_latency_seconds",
                "The same, for attachments that never waited for an address",
            ),
            broken: long(
                "driver_attachment_create_to_broken_latency_seconds",
                "Time from the start of creation until the attachment reports an error",
            ),
            half_tested: [
                long(
                    "driver_attachment_create_to_half_tested_latency_seconds",
                    "Time from the start of creation until the node answered the query for the attachment",
                ),
                long(
                    "driver_attachment_ready_to_half_tested_latency_seconds",
                    "Time from ready until the node answered the query for the attachment",
                ),
            ],
            tested: [
                long(
                    "driver_attachment_create_to_tested_latency_seconds",
                    "Time from the start of creation until a ping was answered",
                ),
                long(
                    "driver_attachment_ready_to_tested_latency_seconds",
                    "Time from ready until a ping was answered",
                ),
            ],
            tests: CounterSeries::counter(
                "driver_test_count",
                "Results of connectivity tests",
                &["runID", "ok", "full"],
            ),
            version: GaugeSeries::gauge("driver_version", "The commit under test", &["runID", "git_commit"]),
        }))
    }
}

impl LoadMetrics {
    pub(super) fn list(&self) -> Vec<MetricEntry> {
        let LoadSeries { created, deleted, half_tested, tested, tests, version, .. } = &*self.0;
        let LoadSeries { addressed, addressed_easy, ready, ready_easy, broken, .. } = &*self.0;
        let steps =
            [deleted, addressed, addressed_easy, ready, ready_easy, broken].map(HistogramSeries::listed);
        let tested = half_tested.iter().chain(tested).map(HistogramSeries::listed);
        steps.into_iter().chain(tested).chain([created.listed(), tests.listed(), version.listed()]).collect()
    }

    /// Returns the metrics of one run.
    pub(crate) fn of(&self, run: &str, commit: &str) -> LoadRunMetrics {
        self.0.version.add([run, commit], 1);
        LoadRunMetrics { all: self.0.clone(), run: run.into() }
    }
}

/// The metrics of one run. Cheap to clone.
#[derive(Clone, Debug)]
pub(crate) struct LoadRunMetrics {
    all: Arc<LoadSeries>,
    run: Arc<str>,
}

impl LoadRunMetrics {
    pub(crate) fn created(&self, took: f64, err: &str) {
        self.all.created.observe([&self.run, err], took);
    }

    pub(crate) fn deleted(&self, took: f64) {
        self.all.deleted.observe([&self.run], took);
    }

    pub(crate) fn addressed(&self, took: f64, easy: bool) {
        self.all.addressed.observe([&self.run], took);
        if easy {
            self.all.addressed_easy.observe([&self.run], took);
        }
    }

    pub(crate) fn ready(&self, took: f64, easy: bool) {
        self.all.ready.observe([&self.run], took);
        if easy {
            self.all.ready_easy.observe([&self.run], took);
        }
    }

    pub(crate) fn broken(&self, took: f64) {
        self.all.broken.observe([&self.run], took);
    }

    /// Records a test, with the seconds since the start of creation and since ready.
    pub(crate) fn tested(&self, full: bool, ok: bool, took: [f64; 2]) {
        self.all.tests.count([&self.run, truth(ok), truth(full)]);
        let series = if full { &self.all.tested } else { &self.all.half_tested };
        if ok {
            series.iter().zip(took).for_each(|(series, took)| series.observe([&self.run], took));
        }
    }
}
