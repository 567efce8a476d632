//! The numbers of loads.

use std::sync::Arc;

use super::series::{CALL, Counts, Levels, Listed, Times};
use super::truth;

/// What is seen of loads. Cheap to clone.
#[derive(Clone, Debug)]
pub struct DriverMetrics(Arc<All>);

/// How many there were of each is with the times of them.
#[derive(Debug)]
struct All {
    created: Times<2>,
    deleted: Times<1>,
    addressed: Times<1>,
    addressed_easy: Times<1>,
    ready: Times<1>,
    ready_easy: Times<1>,
    broken: Times<1>,
    /// Since it was made, and since it is ready: alone, and with frames.
    half_tested: [Times<1>; 2],
    tested: [Times<1>; 2],
    tests: Counts<3>,
    version: Levels<2>,
}

/// From when an attachment is begun to be made, by the driver's clock.
const LONG: &[f64] = &[0.0, 0.125, 0.25, 0.5, 1.0, 2.0, 4.0, 8.0, 16.0, 32.0, 64.0, 128.0, 256.0, 512.0];

impl Default for DriverMetrics {
    fn default() -> Self {
        const RUN: &[&str; 1] = &["runID"];
        let long = |name, help| Times::seconds(name, help, LONG, RUN);
        Self(Arc::new(All {
            created: Times::seconds(
                "driver_attachment_create_latency_seconds",
                "How long it takes to make an attachment",
                CALL,
                &["runID", "err"],
            ),
            deleted: Times::seconds(
                "driver_attachment_delete_latency_seconds",
                "How long it takes to delete one, with all tries",
                CALL,
                RUN,
            ),
            addressed: long(
                "driver_attachment_create_to_addressed_latency_seconds",
                "From when an attachment is begun to be made until it has an address",
            ),
            addressed_easy: long(
                "driver_attachment_create_to_addressed_easy_latency_seconds",
                "The same, of those that never waited for an address",
            ),
            ready: long(
                "driver_attachment_create_to_ready_latency_seconds",
                "From when an attachment is begun to be made until it has its interface",
            ),
            ready_easy: long(
                "driver_attachment_create_to_ready_easy_latency_seconds",
                "The same, of those that never waited for an address",
            ),
            broken: long(
                "driver_attachment_create_to_broken_latency_seconds",
                "From when an attachment is begun to be made until it says that something is wrong",
            ),
            half_tested: [
                long(
                    "driver_attachment_create_to_half_tested_latency_seconds",
                    "From when an attachment is begun to be made until its node answered for it",
                ),
                long(
                    "driver_attachment_ready_to_half_tested_latency_seconds",
                    "From when an attachment has its interface until its node answered for it",
                ),
            ],
            tested: [
                long(
                    "driver_attachment_create_to_tested_latency_seconds",
                    "From when an attachment is begun to be made until a frame of its was answered",
                ),
                long(
                    "driver_attachment_ready_to_tested_latency_seconds",
                    "From when an attachment has its interface until a frame of its was answered",
                ),
            ],
            tests: Counts::counter("driver_test_count", "How tests ended", &["runID", "ok", "full"]),
            version: Levels::gauge("driver_version", "What it is a test of", &["runID", "git_commit"]),
        }))
    }
}

impl DriverMetrics {
    pub(super) fn list(&self) -> Vec<Listed> {
        let All { created, deleted, half_tested, tested, tests, version, .. } = &*self.0;
        let All { addressed, addressed_easy, ready, ready_easy, broken, .. } = &*self.0;
        let steps = [deleted, addressed, addressed_easy, ready, ready_easy, broken].map(Times::listed);
        let tested = half_tested.iter().chain(tested).map(Times::listed);
        steps.into_iter().chain(tested).chain([created.listed(), tests.listed(), version.listed()]).collect()
    }

    /// Those of one run.
    pub(crate) fn of(&self, run: &str, commit: &str) -> DriverRun {
        self.0.version.add([run, commit], 1);
        DriverRun { all: self.0.clone(), run: run.into() }
    }
}

/// What is seen of one run. Cheap to clone.
#[derive(Clone, Debug)]
pub(crate) struct DriverRun {
    all: Arc<All>,
    run: Arc<str>,
}

impl DriverRun {
    pub(crate) fn created(&self, took: f64, err: &str) {
        self.all.created.saw([&self.run, err], took);
    }

    pub(crate) fn deleted(&self, took: f64) {
        self.all.deleted.saw([&self.run], took);
    }

    pub(crate) fn addressed(&self, took: f64, easy: bool) {
        self.all.addressed.saw([&self.run], took);
        if easy {
            self.all.addressed_easy.saw([&self.run], took);
        }
    }

    pub(crate) fn ready(&self, took: f64, easy: bool) {
        self.all.ready.saw([&self.run], took);
        if easy {
            self.all.ready_easy.saw([&self.run], took);
        }
    }

    pub(crate) fn broken(&self, took: f64) {
        self.all.broken.saw([&self.run], took);
    }

    /// With frames or alone; so long after it was begun to be made, and so long after it was ready.
    pub(crate) fn tested(&self, full: bool, ok: bool, took: [f64; 2]) {
        self.all.tests.count([&self.run, truth(ok), truth(full)]);
        let series = if full { &self.all.tested } else { &self.all.half_tested };
        if ok {
            series.iter().zip(took).for_each(|(series, took)| series.saw([&self.run], took));
        }
    }
}
