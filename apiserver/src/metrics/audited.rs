//! Counters of the audit log's events.

use machinery_metrics::{Description, MetricSet};
use prometheus_client::encoding::EncodeLabelSet;
use prometheus_client::metrics::counter::Counter;
use prometheus_client::metrics::family::Family;

const ROW: &str = "Audit log";

/// Counters of audit events: in total, lost by plugin, and by level.
#[derive(Clone, Debug, Default)]
pub(crate) struct Audited {
    events: Counter,
    lost: Family<Plugin, Counter>,
    levels: Family<LevelLabel, Counter>,
    /// Requests that were refused because they could not be logged.
    pub(crate) rejected: Counter,
}

#[derive(Clone, Debug, PartialEq, Eq, Hash, EncodeLabelSet)]
struct Plugin {
    plugin: &'static str,
}

#[derive(Clone, Debug, PartialEq, Eq, Hash, EncodeLabelSet)]
struct LevelLabel {
    level: &'static str,
}

impl Audited {
    pub(crate) fn written(&self, events: usize) {
        self.events.inc_by(events as u64);
    }

    pub(crate) fn lost(&self, events: usize) {
        self.written(events);
        self.lost.get_or_create(&Plugin { plugin: "log" }).inc_by(events as u64);
    }

    pub(crate) fn level(&self, level: &'static str) {
        self.levels.get_or_create(&LevelLabel { level }).inc();
    }

    pub(super) fn register(&self, set: &mut MetricSet) {
        let counter = |name, help| Description::counter(name, help).row(ROW);
        set.register(counter("apiserver_audit_event", "Events of the audit log"), self.events.clone());
        set.register(
            counter("apiserver_audit_error", "Events that could not be written").labels(&["plugin"]),
            self.lost.clone(),
        );
        set.register(
            counter("apiserver_audit_level", "Requests by the level of their policy rule").labels(&["level"]),
            self.levels.clone(),
        );
        set.register(
            counter(
                "apiserver_audit_requests_rejected",
                "Requests rejected because they could not be logged",
            ),
            self.rejected.clone(),
        );
    }
}
