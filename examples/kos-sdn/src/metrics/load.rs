//! Metrics of the load generator.

use std::sync::Arc;

use machinery::metrics::{CALLS, END_TO_END};

use super::truth;

machinery::metrics! {
    /// The metrics of all loads. Cheap to clone. Operation counts are those of the latency
    /// histograms.
    pub struct LoadMetrics("kos", "Load") {
        /// Duration of creations of attachments
        created: seconds("driver_attachment_create_latency_seconds", ["runID", "err"], CALLS);
        /// Duration of deletions of attachments, including retries
        deleted: seconds("driver_attachment_delete_latency_seconds", ["runID"], CALLS);
        /// Time from the start of creation until the attachment has an address
        addressed: seconds("driver_attachment_create_to_addressed_latency_seconds", ["runID"], END_TO_END);
        /// The same, for attachments that never waited for an address
        addressed_easy: seconds("driver_attachment_create_to_addressed_easy_latency_seconds", ["runID"], END_TO_END);
        /// Time from the start of creation until the attachment has its interface
        ready: seconds("driver_attachment_create_to_ready_latency_seconds", ["runID"], END_TO_END);
        /// The same, for attachments that never waited for an address
        ready_easy: seconds("driver_attachment_create_to_ready_easy_latency_seconds", ["runID"], END_TO_END);
        /// Time from the start of creation until the attachment reports an error
        broken: seconds("driver_attachment_create_to_broken_latency_seconds", ["runID"], END_TO_END);
        /// Time from the start of creation until the node answered the query for the attachment
        half_tested: seconds("driver_attachment_create_to_half_tested_latency_seconds", ["runID"], END_TO_END);
        /// Time from ready until the node answered the query for the attachment
        half_tested_ready: seconds("driver_attachment_ready_to_half_tested_latency_seconds", ["runID"], END_TO_END);
        /// Time from the start of creation until a ping was answered
        tested: seconds("driver_attachment_create_to_tested_latency_seconds", ["runID"], END_TO_END);
        /// Time from ready until a ping was answered
        tested_ready: seconds("driver_attachment_ready_to_tested_latency_seconds", ["runID"], END_TO_END);
        /// Results of connectivity tests
        tests: counter("driver_test_count", ["runID", "ok", "full"]);
        /// The commit under test
        version: flag("driver_version", ["runID", "git_commit"]);
    }
}

impl LoadMetrics {
    /// Returns the metrics of one run.
    pub(crate) fn of(&self, run: &str, commit: &str) -> LoadRunMetrics {
        self.version.add([run, commit], 1);
        LoadRunMetrics { all: self.clone(), run: run.into() }
    }
}

/// The metrics of one run. Cheap to clone.
#[derive(Clone, Debug)]
pub(crate) struct LoadRunMetrics {
    all: LoadMetrics,
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
        let LoadMetrics { tested, tested_ready, half_tested, half_tested_ready, .. } = &self.all;
        let series = if full { [tested, tested_ready] } else { [half_tested, half_tested_ready] };
        if ok {
            series.iter().zip(took).for_each(|(series, took)| series.observe([&self.run], took));
        }
    }
}
